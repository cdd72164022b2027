// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// AnswerTimeout is how long a client waits for an answer: longer than anything
// that the demo does on purpose.
const AnswerTimeout = 20 * time.Second

// PodHeader is the header in which an answer says which pod it is from.
const PodHeader = "X-Pod"

// Answer is what became of a request.
type Answer struct {
	Outcome Outcome
	// Sent is when the request was sent, Took how long it took from then.
	Sent time.Time
	Took time.Duration
	// Status is that of the answer, 0 when there was none; Pod is what sent it, if it
	// says so.
	Status int
	Pod    string
	// Err says why the request failed; nil unless it did.
	Err error
}

// Ask sends a request without a body, reads the answer to its end, and says what
// became of it.
func Ask(client *http.Client, method, url string) Answer {
	a := Answer{Sent: time.Now()}
	body, err := a.exchange(client, method, url)
	a.Took, a.Err = time.Since(a.Sent), err
	a.Outcome = classify(a.Status, body, err)
	if a.Outcome == Failed && err == nil {
		a.Err = fmt.Errorf("%d %s: %s", a.Status, http.StatusText(a.Status), strings.TrimSpace(body))
	}
	return a
}

// exchange notes whose answer it is and returns what can be read of its body.
func (a *Answer) exchange(client *http.Client, method, url string) (string, error) {
	request, err := http.NewRequest(method, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	a.Status, a.Pod = response.StatusCode, response.Header.Get(PodHeader)
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// classify tells a call that was shed from one that failed: both may be a 503.
func classify(status int, body string, err error) Outcome {
	switch {
	case err != nil:
		return Failed
	case status == http.StatusOK:
		return OK
	case status == http.StatusServiceUnavailable && strings.Contains(body, "saturated"):
		return Shed
	case status == http.StatusGatewayTimeout:
		return TimedOut
	default:
		return Failed
	}
}
