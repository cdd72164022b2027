// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package controllers

import "os/exec"

func dieWithParent(*exec.Cmd) {}
