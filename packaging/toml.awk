# The keys of doc/configuration.md as /etc/berth/berth.toml: each with what it means, and its
# default, as a comment.
function wrapped(text, link, line, words, n, i) {
  while (match(text, /\[[^]]*\]\([^)]*\)/)) {  # of a link its words
    link = substr(text, RSTART, RLENGTH)
    text = substr(text, 1, RSTART - 1) substr(link, 2, index(link, "](") - 2) \
           substr(text, RSTART + RLENGTH)
  }
  gsub(/`/, "", text)
  n = split(text, words, " ")
  line = "#"
  for (i = 1; i <= n; i++) {
    if (length(line " " words[i]) > 100) { print line; line = "#" }
    line = line " " words[i]
  }
  print line
}
BEGIN {
  FS = " *\\| *"
  print "# berthd reads this file when it starts. Every key is optional; what is written here"
  print "# behind # is the default. man berthd and doc/configuration.md say more."
}
/^## / || /^The table `\[preemption\]`/ { table = "[preemption]" }
/^\| `/ {
  if (table != "") { print "\n#" table; table = "" }
  names = $2; value = $3; n = split(names, name, /, */)
  gsub(/`/, "", value)
  many = split(value, values, /, */)
  print ""
  wrapped($4)
  for (i = 1; i <= n; i++) {
    gsub(/`/, "", name[i])
    one = n == many ? values[i] : value
    if (one ~ /^\//) { split(one, first, ", "); one = first[1] }
    if (one ~ /^(none|half|the machine)/) one = "..."
    else if (one !~ /^(["\[0-9]|true|false)/) one = "\"" one "\""
    print "#" name[i] " = " one
  }
}
