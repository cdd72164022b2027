// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nudge lets pods follow a change of their ConfigMap in about a second.
//
//	nudger, err := nudge.New(mgr, nudge.Options{FieldOwner: "servicebulkhead-operator", Resync: time.Hour})
//	err = mgr.Add(nudger)
//	nudger.Published(configMap, nudge.Document{Revision: revision, Written: time.Now()})
//
// A kubelet brings a mounted ConfigMap up to date when it next looks at the pod:
// of itself every 60 to 90 seconds, and at once when anything about the Pod
// changes. So the Nudger notes the document's revision in an annotation of every
// running pod that mounts the ConfigMap and has the label
// servicebulkhead.io/nudge=enabled. It goes through pods/status, which can change
// neither an image nor any other part of the spec; docs/decisions/0011 says why.
//
// Who is nudged is decided by a pure function of one pod (decide), when by another
// (pace), and a board keeps how far each document has come. Pods are nudged a few
// a second, in no particular order, so that a wrong limit does not reach a fleet at
// once; the ConfigMaps take turns.
//
// The package never promises that a pod follows: whatever is not nudged follows in
// its kubelet's own time. It reads no ConfigMap, and knows of a document only what
// it is told.
package nudge
