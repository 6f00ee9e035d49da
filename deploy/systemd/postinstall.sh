#!/bin/sh
# Makes the user and the folder of the configuration. The service is neither enabled nor started: it has no configuration yet.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers /usr/lib/sysusers.d/recourse.conf
fi
if command -v systemd-tmpfiles >/dev/null; then
	systemd-tmpfiles --create /usr/lib/tmpfiles.d/recourse.conf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
