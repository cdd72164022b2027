// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Object is one ServiceBulkhead of a file.
type Object struct {
	// File is the name that Read was given.
	File string
	// Namespace and Name are metadata's; empty where they are no strings.
	Namespace, Name string
	// JSON is the object as the API server would receive it, except that keys which
	// stand twice in YAML stand twice here too.
	JSON []byte

	root *yaml.Node // nil where the positions are not known
	line int        // on which the document begins
	keys keys
}

// keys remember where in a mapping its keys are, the last of equal ones, so that to
// find each of very many does not take the square of their number.
type keys map[*yaml.Node]map[string]int

// child is the function of this name, with a memory.
func (k keys) child(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node.Kind != yaml.MappingNode || k == nil {
		return child(node, name)
	}
	if k[node] == nil {
		k[node] = make(map[string]int, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			k[node][node.Content[i].Value] = i
		}
	}
	if i, ok := k[node][name]; ok {
		return node.Content[i], follow(node.Content[i+1])
	}
	return merged(node, name)
}

// Line is where a field stands, named as the API server names it, such as
// spec.queue.capacity: the line of its key, of its nearest parent if it is
// missing, of the object if that is missing too. The empty path is the object.
func (o Object) Line(path string) int {
	if o.root == nil {
		return o.line
	}
	_, line, _ := o.find(path)
	return o.line + line - 1
}

// Scalar is the text of a field as it stands in the file, and whether it stands there
// without quotes; it is empty where there is no such field, or it is no scalar.
func (o Object) Scalar(path string) (text string, plain bool) {
	if o.root == nil {
		return "", false
	}
	node, _, rest := o.find(path)
	if rest != "" || node.Kind != yaml.ScalarNode {
		return "", false
	}
	return node.Value, node.Style == 0
}

// find goes along a path as far as it leads; rest is what remains of it.
func (o Object) find(path string) (node *yaml.Node, line int, rest string) {
	node, line = o.root, o.root.Line
	for path != "" {
		key, value, rest := o.keys.step(node, path)
		if key == nil {
			break
		}
		node, line, path = value, key.Line, rest
	}
	return node, line, path
}

// step goes from a node to its child that the path begins with. Keys may have dots
// in them, as those of labels do; the longest that fits is taken.
func (k keys) step(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	if node.Kind == yaml.SequenceNode {
		return stepInto(node, path)
	}
	for name := path; name != ""; name = name[:max(strings.LastIndexAny(name, ".["), 0)] {
		bare := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		if key, value := k.child(node, bare); key != nil {
			return key, value, strings.TrimPrefix(path[len(name):], ".")
		}
	}
	return nil, nil, ""
}

// stepInto takes the [index] that the path begins with.
func stepInto(list *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list.Content) {
		return nil, nil, ""
	}
	return list.Content[i], follow(list.Content[i]), strings.TrimPrefix(rest, ".")
}

// child finds a key of a mapping, the last of several, or one that is merged into
// it; nil where there is none.
func child(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			key, value = node.Content[i], follow(node.Content[i+1])
		}
	}
	if key == nil && name != mergeKey {
		return merged(node, name)
	}
	return key, value
}

const mergeKey = "<<"

// merged finds a key in what a mapping merges: one mapping, or a list of them, the
// first of which wins.
func merged(node *yaml.Node, name string) (key, value *yaml.Node) {
	_, from := child(node, mergeKey)
	if from == nil {
		return nil, nil
	}
	if from.Kind != yaml.SequenceNode {
		return child(from, name)
	}
	for _, one := range from.Content {
		if key, value = child(follow(one), name); key != nil {
			return key, value
		}
	}
	return nil, nil
}

// follow goes from an alias to what it stands for.
func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

// root is the node of a document, nil where it cannot be had: then the line of the
// document has to do. The parser is a sister of the one that kubectl converts with,
// and the only one of the two that tells positions.
func (c chunk) root() *yaml.Node {
	if c.json {
		return jsonRoot(c.text)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(c.text, &document); err != nil || len(document.Content) == 0 {
		return nil
	}
	return follow(document.Content[0])
}
