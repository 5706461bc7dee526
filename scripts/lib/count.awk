# Reads a log of `meson test` and prints how many tests passed, failed and were skipped. A Catch2 program counts with its own
# totals of test cases, any other test as one.

function finish() {
  if (!open) return
  if (has_totals) {
    passed += cases["passed"]
    skipped += cases["skipped"]
    # A program that ends badly although its cases passed has failed all the same.
    failed += cases["failed"] || status == "exit status 0" ? cases["failed"] : 1
  } else if (status == "exit status 0") {
    ++passed
  } else if (status == "exit status 77") {
    ++skipped
  } else {
    ++failed
  }
  open = has_totals = 0
  split("", cases)
}

/^=+ [0-9]+\/[0-9]+ =+$/ { finish(); open = 1; status = "" }
/^result: / && open { status = $0; sub(/^result: +/, "", status) }

/^All tests passed \(.* in [0-9]+ test cases?\)$/ {
  has_totals = 1
  cases["passed"] += $(NF - 2)
}
/^test cases: / {
  has_totals = 1
  count = split($0, column, "|")
  for (i = 2; i <= count; i++) {
    split(column[i], word, " ")
    cases[column[i] ~ /failed as expected/ ? "passed" : word[2]] += word[1]
  }
}

END {
  finish()
  print passed + 0, failed + 0, skipped + 0
}
