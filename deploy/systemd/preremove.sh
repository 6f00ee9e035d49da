#!/bin/sh
# Ends the service before its program is removed: $1 is then "remove" in Debian, and 0 in Fedora. An upgrade leaves it running.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl disable --now recourse.service
fi
