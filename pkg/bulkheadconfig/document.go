// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// Key is the key of the ConfigMap, and so the name of the file in the pod,
	// that holds the document. It names the format: a future format is a second
	// key beside it.
	Key = "bulkheads.v1.json"

	// MaxServices is how many bulkheads one document may hold.
	MaxServices = 512

	// MaxBytes is how long a document may be: a ConfigMap's 1 MiB less a margin
	// for its metadata.
	MaxBytes = 1<<20 - 64<<10
)

// OnReclaim says what happens to a call whose slot lapses while it runs.
type OnReclaim string

const (
	// Cancel ends the call's context, with limiter.ErrReclaimed as its cause.
	Cancel OnReclaim = "Cancel"
	// Release frees the slot and lets the call run on.
	Release OnReclaim = "Release"
)

// Enforcement says what happens to a call that finds every slot held.
type Enforcement string

const (
	// Enforce refuses it, after its wait budget.
	Enforce Enforcement = "Enforce"
	// Shadow admits it and counts that it would have been refused.
	Shadow Enforcement = "Shadow"
)

// Document is everything an agent needs to know, from one ConfigMap.
type Document struct {
	// Revision changes if and only if the values of Services do.
	Revision string
	// Services holds one entry for each bulkhead, by service.
	Services map[string]Service
	// Unknown lists the paths of fields this version does not know. They were
	// ignored; a newer operator wrote them.
	Unknown []string
}

// Service is one service's bulkhead.
type Service struct {
	// Limit is how many calls may be in flight at once, in each process; 0
	// admits nothing.
	Limit int
	// MaxWait is how long a call may wait for a slot; 0 refuses it at once.
	MaxWait time.Duration
	// ReclaimAfter is how long a slot may be held before it counts as abandoned.
	ReclaimAfter time.Duration
	// OnReclaim defaults to Cancel.
	OnReclaim OnReclaim
	// Enforcement defaults to Enforce.
	Enforcement Enforcement
	// Queue turns on the reducer's queue; nil means none.
	Queue *Queue
	// DrainTimeout is how long running calls may take to finish when the process
	// ends; nil leaves it to the process.
	DrainTimeout *time.Duration
}

// Queue bounds the asynchronous tasks of one bulkhead.
type Queue struct {
	// Capacity is how many tasks may wait.
	Capacity int
	// MaxConcurrency is how many slots queued tasks may use at once; 0 means as
	// many as the limit allows.
	MaxConcurrency int
}

// wireService is a Service as JSON. Its fields stand in alphabetical order: the
// encoder writes them in this one.
type wireService struct {
	DrainTimeout string      `json:"drainTimeout,omitempty"`
	Enforcement  Enforcement `json:"enforcement"`
	Limit        int         `json:"limit"`
	MaxWait      string      `json:"maxWait"`
	OnReclaim    OnReclaim   `json:"onReclaim"`
	Queue        *wireQueue  `json:"queue,omitempty"`
	ReclaimAfter string      `json:"reclaimAfter"`
}

type wireQueue struct {
	Capacity       int `json:"capacity"`
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
}

type wireDocument struct {
	Revision string                 `json:"revision"`
	Services map[string]wireService `json:"services"`
}

// Encode renders the services as a document: indented, keys sorted, with the
// revision of its values. It refuses values that Decode would refuse.
func Encode(services map[string]Service) ([]byte, error) {
	wire := wireDocument{Revision: Revision(services), Services: make(map[string]wireService, len(services))}
	for name, s := range services {
		if err := errors.Join(checkName(name), s.validate(servicePath(name))); err != nil {
			return nil, err
		}
		wire.Services[name] = s.wire()
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	if err := enc.Encode(wire); err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return text.Bytes(), nil
}

// Revision is a hash of the services' values: the same for equal values,
// whatever order or spelling they came in.
func Revision(services map[string]Service) string {
	wire := make(map[string]wireService, len(services))
	for name, s := range services {
		wire[name] = s.wire()
	}
	return digest(wire)
}

// Revision is a hash of this one entry's values.
func (s Service) Revision() string { return digest(s.wire()) }

// digest hashes a value's JSON. 64 bits are plenty: a revision tells "changed"
// from "unchanged", it authenticates nothing.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (s Service) wire() wireService {
	w := wireService{
		Enforcement:  orDefault(s.Enforcement, Enforce),
		Limit:        s.Limit,
		MaxWait:      FormatDuration(s.MaxWait),
		OnReclaim:    orDefault(s.OnReclaim, Cancel),
		ReclaimAfter: FormatDuration(s.ReclaimAfter),
	}
	if s.DrainTimeout != nil {
		w.DrainTimeout = FormatDuration(*s.DrainTimeout)
	}
	if s.Queue != nil {
		w.Queue = &wireQueue{Capacity: s.Queue.Capacity, MaxConcurrency: s.Queue.MaxConcurrency}
	}
	return w
}

func orDefault[T ~string](v, def T) T {
	if v == "" {
		return def
	}
	return v
}
