// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Message is what the first process tells whoever has started it.
type Message struct {
	Step    string   `json:"step,omitempty"`    // something is done
	Ready   bool     `json:"ready,omitempty"`   // all is: the last message
	Failure *Failure `json:"failure,omitempty"` // there is no more to come: the last message
}

// Failure is why a node does not boot.
type Failure struct {
	Reason string `json:"reason"`
	Log    string `json:"log,omitempty"` // the component whose log tells more
}

func (f Failure) Error() string { return f.Reason }

// Follow reads messages and calls step with each step, until the node is ready,
// which is nil, or fails; then the error is a Failure or wraps io.ErrUnexpectedEOF
// when the sender is gone.
func Follow(from io.Reader, step func(string)) error {
	for messages := json.NewDecoder(from); ; {
		var m Message
		err := messages.Decode(&m)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("the node's first process has ended: %w", err)
		}
		switch {
		case m.Ready:
			return nil
		case m.Failure != nil:
			return *m.Failure
		default:
			step(m.Step)
		}
	}
}
