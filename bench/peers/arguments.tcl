# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Puts the words of the command line, `key value …`, over the defaults in `opt`.

foreach {key value} $argv {
    if {![info exists opt($key)]} { error "unknown key \"$key\"; known: [lsort [array names opt]]" }
    set opt($key) $value
}
