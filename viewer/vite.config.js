// One classic script and one style sheet, with the names that the program embeds. `npm run dev` serves the page from the
// sources with the data of a running `abd view --port 8520`.
import { defineConfig } from 'vite';

const sourcePage = {
  name: 'source-page',
  apply: 'serve',
  transformIndexHtml: (html) => html
    .replace('<link rel="stylesheet" href="viewer.css">', '')
    .replace('<script src="viewer.js"></script>', '<script type="module" src="/src/bundle.js"></script>'),
};

export default defineConfig({
  plugins: [sourcePage],
  server: { proxy: { '/api': { target: 'http://127.0.0.1:8520', changeOrigin: true } } },
  build: {
    target: 'es2020',
    chunkSizeWarningLimit: 2000,
    cssCodeSplit: false,
    copyPublicDir: false,
    lib: { entry: 'src/bundle.js', formats: ['iife'], name: 'abdViewer', fileName: () => 'viewer.js', cssFileName: 'viewer' },
  },
});
