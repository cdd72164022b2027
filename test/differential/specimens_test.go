// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// specimen is a generated object, and what is wrong with it.
type specimen struct {
	number int
	text   string
	broken []rule // none in a valid object
}

// random is what the object of a number is drawn with: the same for the same seed.
func random(number int) *rand.Rand { return rand.New(rand.NewPCG(*seed, uint64(number))) }

// single draws objects of which one in four is valid, and each of the others
// breaks one rule: all of them in turn.
func single(rules []rule) func(number int) specimen {
	return func(number int) specimen {
		r := random(number)
		if number%4 == 0 {
			o := valid(r, oneIn(r, 4))
			harmless(r, &o)
			return specimen{number: number, text: o.json(r)}
		}
		broken := rules[(number-number/4-1)%len(rules)]
		o := valid(r, true)
		breakers[broken.kind](r, &o, broken)
		return specimen{number: number, text: o.json(r), broken: []rule{broken}}
	}
}

// several draws objects with two or three mistakes, in as many fields.
func several(rules []rule) func(number int) specimen {
	return func(number int) specimen {
		r := random(number)
		o := valid(r, true)
		s := specimen{number: number}
		// Mistakes that would hide others: of another kind of object nothing is told.
		fields := map[string]bool{"spec": true, "spec.queue": true, "kind": true}
		for n := 2 + r.IntN(2); len(s.broken) < n; {
			broken := pick(r, rules...)
			if field := cmp.Or(broken.field, broken.path+" unknown"); !fields[field] {
				fields[field] = true
				breakers[broken.kind](r, &o, broken)
				s.broken = append(s.broken, broken)
			}
		}
		s.text = o.json(r)
		return s
	}
}

// legal draws valid objects.
func legal(number int) specimen {
	r := random(number)
	o := valid(r, oneIn(r, 2))
	return specimen{number: number, text: o.json(r)}
}

// texts are the fields whose text has a form.
var texts = []string{"spec.service", "spec.configMapName", "spec.maxWait", "spec.reclaimAfter", "spec.drainTimeout"}

// almost draws objects that were valid before one text lost, gained or changed a
// character or two. Whether they still are is for the judges to say.
func almost(number int) specimen {
	r := random(number)
	o := valid(r, true)
	m := o.find(texts[number%len(texts)])
	text := []rune(decode(m.value))
	for range 1 + r.IntN(2) {
		at, c := r.IntN(len(text)+1), pick(r, []rune("abhms019AZ-._ +\n\x00é١")...)
		switch {
		case oneIn(r, 3) || at == len(text):
			text = slices.Insert(text, at, c)
		case oneIn(r, 2):
			text[at] = c
		default:
			text = slices.Delete(text, at, at+1)
		}
	}
	m.value = encode(string(text))
	return specimen{number: number, text: o.json(r)}
}

// onCreation are the rules that a creation can break: those of CEL that speak of
// the object before can not.
func onCreation(rules []rule) []rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.isTransition })
}
