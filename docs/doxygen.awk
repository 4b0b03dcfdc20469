# Makes of abd.h's plain comments what Doxygen reads: the opening one is the main page, a heading with dashes begins a group, a
# comment on a line of its own is about what follows, one after code is about that code. Used by docs/Doxyfile.
NR == 1 { sub(/^\/\* abd: /, "/** @mainpage abd\n * ") }
/^ \* Life of a world:$/ { print; print " *"; next }                 # what is indented below it is code
/^ \*     / { sub(/^ \* /, " *   ") }
/^#ifdef __cplusplus$/ && open { print "/** @} */"; open = 0 }
/^\/\* ---- / {
  title = $0
  gsub(/^\/\* -+ | -+ \*\/$/, "", title)
  print (open ? "/** @} */\n" : "") "/** @defgroup " tolower(title) " " title "\n * @{ */"
  open = 1
  next
}
/^ *\/\* / { sub(/\/\* /, "/** "); print; next }
/[^ ] *\/\* / { sub(/\/\* /, "/**< ") }
{ print }
