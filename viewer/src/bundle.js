// Vite bundles this: the viewer and its style sheet.
import './viewer.css';
import './main.js';
