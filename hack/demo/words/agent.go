// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package words

// Agent is a part of what the shop's agent says at /debug/bulkheads?format=json.
type Agent struct {
	State  string `json:"state"`
	Source struct {
		Revision string `json:"revision"`
		Good     bool   `json:"good"`
		Error    string `json:"error"`
		Reloads  int    `json:"reloads"`
		Failures int    `json:"failures"`
	} `json:"source"`
	Services []Bulkhead `json:"services"`
}

// Bulkhead is one service of it.
type Bulkhead struct {
	Name   string `json:"name"`
	Listed bool   `json:"listed"`
	Mode   string `json:"mode"`
	// Limit is nil while no document lists the service.
	Limit    *int   `json:"limit"`
	InFlight int    `json:"inFlight"`
	Waiting  int    `json:"waiting"`
	Counts   Counts `json:"counts"`
}

// Bulkhead is the state of a service; of one that the agent has not heard of, it is
// that of one without a limit and without calls.
func (a Agent) Bulkhead(service string) Bulkhead {
	for _, b := range a.Services {
		if b.Name == service {
			return b
		}
	}
	return Bulkhead{Name: service}
}

// Unlimited stands for the limit of a service that no document lists.
const Unlimited = -1

// LimitInForce is the limit, or Unlimited.
func (b Bulkhead) LimitInForce() int {
	if b.Limit == nil {
		return Unlimited
	}
	return *b.Limit
}
