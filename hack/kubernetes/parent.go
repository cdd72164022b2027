// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// dieWithParentEnv is the variable that ties a process to the one that started
// it: "1" for whichever process that is, or its id, which also covers a parent
// that is gone before this process looks.
const dieWithParentEnv = "SERVICEBULKHEAD_DIE_WITH_PARENT"

// parentPoll is how often the parent is looked for.
const parentPoll = 500 * time.Millisecond

// dieWithParent ends this process when its parent goes away, if asked to. A
// control plane that a killed test run leaves behind would otherwise live on:
// it stands in a process group of its own, which Ctrl-C does not reach.
//
// Polling, and not Linux's PR_SET_PDEATHSIG, which fires when the thread that
// forked ends, though its process lives on (golang/go#27505).
func dieWithParent() {
	parent, watch := parentToWatch(os.Getenv(dieWithParentEnv), os.Getppid())
	if !watch {
		return
	}
	go func() {
		for range time.Tick(parentPoll) {
			if os.Getppid() != parent {
				fmt.Fprintf(os.Stderr, "parent process %d is gone: ending\n", parent)
				os.Exit(1)
			}
		}
	}()
}

// parentToWatch returns the id of the parent that this process must not
// outlive, and whether there is one.
func parentToWatch(setting string, current int) (int, bool) {
	if setting == "1" {
		return current, true
	}
	parent, err := strconv.Atoi(setting)
	return parent, err == nil && parent > 1
}
