// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// repeatKeys makes JSON out of an object again, with each key as often as the YAML
// has it: the conversion that kubectl uses keeps the last one and says nothing, so
// that the API server, which would refuse the object, never sees the others.
func repeatKeys(raw []byte, root *yaml.Node) []byte {
	if root == nil || !repeats(root, map[*yaml.Node]bool{}) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // as they stand
	var value any
	if err := decoder.Decode(&value); err != nil {
		return raw // somebody else's to complain about
	}
	var out bytes.Buffer
	encode(&out, root, value)
	return out.Bytes()
}

// repeats tells whether a key stands twice in a mapping, all the way down.
func repeats(node *yaml.Node, seen map[*yaml.Node]bool) bool {
	node = follow(node)
	if seen[node] {
		return false // an alias
	}
	seen[node] = true
	if node.Kind == yaml.MappingNode {
		for _, times := range count(node) {
			if times > 1 {
				return true
			}
		}
	}
	return slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return repeats(n, seen) })
}

// count says how often each key stands in a mapping.
func count(node *yaml.Node) map[string]int {
	times := map[string]int{}
	for i := 0; node != nil && node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		if key := node.Content[i]; key.Kind == yaml.ScalarNode && key.Value != mergeKey {
			times[key.Value]++
		}
	}
	return times
}

// encode writes a value that was read from the node; nil is a node of which
// nothing is known.
func encode(out *bytes.Buffer, node *yaml.Node, value any) {
	switch value := value.(type) {
	case map[string]any:
		encodeMap(out, node, value)
	case []any:
		encodeList(out, node, value)
	default:
		text, _ := json.Marshal(value) // it has just been read from JSON
		out.Write(text)
	}
}

func encodeMap(out *bytes.Buffer, node *yaml.Node, fields map[string]any) {
	times := count(node)
	separator := byte('{')
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		_, value := child(node, name)
		for range max(times[name], 1) {
			out.WriteByte(separator)
			encode(out, nil, name)
			out.WriteByte(':')
			encode(out, value, fields[name])
			separator = ','
		}
	}
	if separator == '{' {
		out.WriteByte(separator)
	}
	out.WriteByte('}')
}

func encodeList(out *bytes.Buffer, node *yaml.Node, items []any) {
	out.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		var one *yaml.Node
		if node != nil && node.Kind == yaml.SequenceNode && i < len(node.Content) {
			one = follow(node.Content[i])
		}
		encode(out, one, item)
	}
	out.WriteByte(']')
}
