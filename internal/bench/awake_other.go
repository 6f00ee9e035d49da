//go:build !linux

package main

import "errors"

// keepsAwake says whether keepAwake works on this system.
const keepsAwake = false

func keepAwake() error { return errors.New("nothing keeps processors awake on this system") }
