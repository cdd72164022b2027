// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// object is a JSON object as somebody types it: in an order, and perhaps with one
// key twice.
type object []*member

// member is one line of an object.
type member struct {
	key    string
	value  string // JSON, unless there is an object
	object object
}

// find returns the first member at a path such as spec.queue.capacity; nil where
// there is none.
func (o *object) find(path string) *member {
	key, rest, deeper := strings.Cut(path, ".")
	i := slices.IndexFunc(*o, func(m *member) bool { return m.key == key })
	switch {
	case i < 0:
		return nil
	case deeper:
		return (*o)[i].object.find(rest)
	}
	return (*o)[i]
}

// set puts JSON at a path, in the place of what is there or else behind it; the
// parent must exist.
func (o *object) set(path, value string) {
	if m := o.find(path); m != nil {
		m.value, m.object = value, nil
		return
	}
	o.add(path, value)
}

// add puts JSON behind what is there.
func (o *object) add(path, value string) {
	siblings, key := o.siblings(path)
	*siblings = append(*siblings, &member{key: key, value: value})
}

func (o *object) drop(path string) {
	siblings, key := o.siblings(path)
	*siblings = slices.DeleteFunc(*siblings, func(m *member) bool { return m.key == key })
}

// siblings returns the object that holds the last key of a path.
func (o *object) siblings(path string) (siblings *object, key string) {
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		return &o.find(path[:dot]).object, path[dot+1:]
	}
	return o, path
}

// json writes the object, at every depth in an order of its own.
func (o *object) json(r *rand.Rand) string {
	lines := *o
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	members := make([]string, len(lines))
	for i, m := range lines {
		value := m.value
		if value == "" {
			value = m.object.json(r)
		}
		members[i] = quote(r, m.key) + pick(r, ":", ": ") + value
	}
	return "{" + strings.Join(members, pick(r, ",", ", ", ",\n")) + "}"
}

// quote writes a string as JSON, now and then with escapes that nobody needs: they
// change nothing.
func quote(r *rand.Rand, text string) string {
	if len(text) > 0 && oneIn(r, 20) {
		var out strings.Builder
		for _, c := range text {
			if c < 0x80 && oneIn(r, 3) {
				fmt.Fprintf(&out, `\u%04x`, c)
				continue
			}
			quoted := encode(string(c))
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		return `"` + out.String() + `"`
	}
	return encode(text)
}

// encode writes any value as JSON.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return string(text)
}

// decode reads a JSON string.
func decode(value string) (text string) {
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		panic(err) // it was written here
	}
	return text
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// between draws from least to most, both borders oftener than what lies between.
func between(r *rand.Rand, least, most int64) int64 {
	switch r.IntN(4) {
	case 0:
		return least
	case 1:
		return most
	}
	return least + r.Int64N(most-least+1)
}
