// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "context"

// Ongoing is a call in flight that no single function runs: a response whose body
// is read after the request, a stream, the rows of a query. It is a small value,
// made by Begin.
type Ongoing struct{ details *details }

// Begin starts a call as Do does, and leaves it to the caller to end it: for calls
// that outlive the function that starts them. It returns the errors of Acquire.
// Where a function can run the whole call, Do is simpler and forgets nothing.
//
// The call must run with the Context of what Begin returns, and its owner must
// call End when it is over.
func (b *Bulkhead) Begin(ctx context.Context) (Ongoing, error) {
	permit, err := b.Acquire(ctx)
	if err != nil {
		return Ongoing{}, err
	}
	if permit.slot == nil {
		return Ongoing{&details{callContext: callContext{parent: ctx}}}, nil
	}
	return Ongoing{permit.begin(ctx)}, nil
}

// Context returns the context to run the call with. It ends with the context that
// Begin was given, at End, and, unless the bulkhead's OnReclaim is Release, with
// ErrReclaimed as its cause when the call's slot lapses.
func (o Ongoing) Context() context.Context { return &o.details.callContext }

// Explain returns the call's error, with the reason added if it was the bulkhead
// that ended the call's context: errors.Is(err, ErrReclaimed) or
// errors.Is(err, ErrDraining) then holds. Other errors, and nil, are returned as
// they are. Ask before End.
func (o Ongoing) Explain(err error) error {
	if o.details.permit.slot == nil {
		return err
	}
	return o.details.permit.slot.owner.explain(o.details, err)
}

// End ends the call and its context, and gives its slot back. Only the first End
// does anything; it may be called from anywhere, by several at once, and on what
// Begin returned with an error.
func (o Ongoing) End() {
	if o.details == nil || !o.details.over.CompareAndSwap(false, true) {
		return
	}
	if o.details.permit.slot == nil {
		o.details.cancel(nil)
		return
	}
	o.details.end()
}
