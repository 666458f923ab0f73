#!/bin/sh
# Runs a command while no other command runs through this script in this checkout. On systems without flock(1), such as macOS, Perl's flock is used.
set -eu
lock=$(cd "$(dirname "$0")/.." && pwd)/Makefile
if command -v flock >/dev/null; then exec flock "$lock" "$@"; fi
exec perl -MFcntl=:flock -e '$^F = 255; open(my $lock, "<", shift) or die $!; flock($lock, LOCK_EX) or die $!; exec @ARGV or die $!' "$lock" "$@"
