// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
)

// safely runs the application's code in a goroutine of its own, and returns where
// its error will be; a panic and a runtime.Goexit are errors like others. Nobody has
// to wait for it.
func safely(do func() error) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("called runtime.Goexit")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
			result <- err
		}()
		err = do()
	}()
	return result
}
