// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// The ConfigMaps that the attempts are about.
const (
	ownMap     = "own-bulkheads"     // the operator's, with things of other people's in it
	crowdedMap = "crowded-bulkheads" // the operator's, with 2,000 keys of other people's
	foreignMap = "foreign-bulkheads" // somebody's, without the label
	wrongMap   = "settings"          // somebody's, with the label by mistake
	takenMap   = "taken-bulkheads"   // was the operator's, until somebody replaced the document and removed the label
)

func makeGuardedConfigMaps(ctx context.Context) {
	for _, object := range []*corev1.ConfigMap{
		newMap(ownMap, func(c *corev1.ConfigMap) {
			c.Labels["team"], c.Labels["app.kubernetes.io/instance"] = "shop", "a"
			c.Annotations = map[string]string{
				"note": "ours too", "argocd.argoproj.io/tracking-id": "a", "kubectl.kubernetes.io/last-applied-configuration": "a",
			}
			c.Finalizers, c.Data["other"] = []string{"example.com/hold"}, "text"
		}),
		newMap(crowdedMap, func(c *corev1.ConfigMap) {
			for i := range 2000 {
				c.Data[fmt.Sprint("key-", i)] = "text"
			}
		}),
		newMap(foreignMap, func(c *corev1.ConfigMap) { c.Labels = nil }),
		newMap(wrongMap),
		newMap(takenMap, func(c *corev1.ConfigMap) { c.Labels = nil }),
	} {
		_, err := people.kube.CoreV1().ConfigMaps(guarded).Create(ctx, object, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

// newMap is a ConfigMap as the operator creates it, but for the changes.
func newMap(name string, changes ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{controllers.ManagedLabel: "true"}},
		Data:       map[string]string{bulkheadconfig.Key: "{}"},
	}
	for _, change := range changes {
		change(object)
	}
	return object
}

func createMap(name string, changes ...func(*corev1.ConfigMap)) func(context.Context, account) error {
	return func(ctx context.Context, a account) error {
		_, err := a.kube.CoreV1().ConfigMaps(guarded).Create(ctx, newMap(name, changes...), metav1.CreateOptions{DryRun: dryRun})
		return err
	}
}

func patchMap(name, patch string) func(context.Context, account) error {
	return func(ctx context.Context, a account) error {
		_, err := a.kube.CoreV1().ConfigMaps(guarded).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// applyMap is what the operator does with a ConfigMap that it has read.
func applyMap(name string) func(context.Context, account) error {
	return func(ctx context.Context, a account) error {
		patch := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","labels":{"` + controllers.ManagedLabel + `":"true"}},` +
			`"data":{"` + bulkheadconfig.Key + `":"{ }"}}`
		_, err := a.kube.CoreV1().ConfigMaps(guarded).Patch(ctx, name, types.ApplyPatchType, []byte(patch), forced)
		return err
	}
}

var configMapRules = []guardRule{
	{
		refusal: "the operator writes only ConfigMaps whose names end in -bulkheads, so that no bulkhead can point it at another kind; " +
			"give the ServiceBulkhead such a spec.configMapName",
		attempts: []attempt{
			{"creates a ConfigMap of another name", createMap("settings-too")},
			{"creates a ConfigMap of another name by server-side apply", applyMap("settings-too")},
			{"creates a ConfigMap of a generated name", createMap("", func(c *corev1.ConfigMap) { c.GenerateName = "new-bulkheads" })},
			{"changes a ConfigMap of another name that has its label", patchMap(wrongMap, `{"data":{"bulkheads.v1.json":"{ }"}}`)},
		},
	},
	{
		refusal: "the ConfigMap is not the operator's: it has neither the label servicebulkhead.io/managed=true nor a document that " +
			"the operator wrote; delete or rename it, or hand it over with that label",
		attempts: []attempt{
			{"changes a foreign ConfigMap", patchMap(foreignMap, `{"data":{"other":"text"}}`)},
			{"takes a foreign ConfigMap over by setting its label", patchMap(foreignMap, `{"metadata":{"labels":{"servicebulkhead.io/managed":"true"}}}`)},
			{"takes a foreign ConfigMap over by server-side apply", applyMap(foreignMap)},
			{"takes back a ConfigMap whose document somebody replaced and whose label somebody removed", applyMap(takenMap)},
			{"replaces a foreign ConfigMap", func(ctx context.Context, a account) error {
				_, err := a.kube.CoreV1().ConfigMaps(guarded).Update(ctx, newMap(foreignMap), metav1.UpdateOptions{})
				return err
			}},
		},
	},
	{
		refusal: "the operator must leave its ConfigMaps their label servicebulkhead.io/managed=true and their key bulkheads.v1.json: " +
			"without the one it would not see them change, without the other pods would have no document; send both",
		attempts: []attempt{
			{"creates a ConfigMap without its label", createMap("new-bulkheads", func(c *corev1.ConfigMap) { c.Labels = nil })},
			{"creates a ConfigMap without a document", createMap("new-bulkheads", func(c *corev1.ConfigMap) { c.Data = nil })},
			{"removes its label", patchMap(ownMap, `{"metadata":{"labels":{"servicebulkhead.io/managed":null}}}`)},
			{"removes the document", patchMap(ownMap, `{"data":{"bulkheads.v1.json":null}}`)},
		},
	},
	{
		refusal: "the operator writes the key bulkheads.v1.json and the label servicebulkhead.io/managed of a ConfigMap, and nothing else: " +
			"other keys, finalizers, owner references and all managedFields at once are other people's, and so are labels and " +
			"annotations: none may go, and those by which tools know what is theirs may not change; let one of them write those",
		attempts: []attempt{
			{"creates a ConfigMap with another key", createMap("new-bulkheads", func(c *corev1.ConfigMap) { c.Data["other"] = "text" })},
			{"creates a ConfigMap with a finalizer", createMap("new-bulkheads", func(c *corev1.ConfigMap) { c.Finalizers = []string{"example.com/hold"} })},
			{"creates a ConfigMap with an owner", createMap("new-bulkheads", func(c *corev1.ConfigMap) {
				c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "1"}}
			})},
			{"creates a ConfigMap with binary data", createMap("new-bulkheads", func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"other": {1}} })},
			{"creates a ConfigMap that is immutable", createMap("new-bulkheads", func(c *corev1.ConfigMap) { c.Immutable = new(true) })},
			{"adds a key", patchMap(ownMap, `{"data":{"another":"text"}}`)},
			{"changes somebody's key", patchMap(ownMap, `{"data":{"other":"changed"}}`)},
			{"removes somebody's key", patchMap(ownMap, `{"data":{"other":null}}`)},
			{"adds a key to 2,000", patchMap(crowdedMap, `{"data":{"another":"text"}}`)},
			{"removes a key of 2,000", patchMap(crowdedMap, `{"data":{"key-1":null}}`)},
			{"adds binary data", patchMap(ownMap, `{"binaryData":{"another":"AA=="}}`)},
			{"removes somebody's label", patchMap(ownMap, `{"metadata":{"labels":{"team":null}}}`)},
			{"removes somebody's annotation", patchMap(ownMap, `{"metadata":{"annotations":{"note":null}}}`)},
			{"changes by which Argo CD knows its own", patchMap(ownMap, `{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"b"}}}`)},
			{"changes by which an older Argo CD knows its own", patchMap(ownMap, `{"metadata":{"labels":{"app.kubernetes.io/instance":"b"}}}`)},
			{"changes what kubectl applied", patchMap(ownMap, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"b"}}}`)},
			{"makes a ConfigMap Flux's", patchMap(ownMap, `{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":"b"}}}`)},
			{"makes a ConfigMap Helm's", patchMap(ownMap, `{"metadata":{"annotations":{"meta.helm.sh/release-name":"b"}}}`)},
			{"forgets who wrote which field", patchMap(ownMap, `{"metadata":{"managedFields":[{}]}}`)},
			{"adds a finalizer", patchMap(ownMap, `{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}`)},
			{"removes somebody's finalizer", patchMap(ownMap, `{"metadata":{"finalizers":null}}`)},
			{"adds an owner", patchMap(ownMap, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}]}}`)},
			{"makes a ConfigMap immutable", patchMap(ownMap, `{"immutable":true}`)},
		},
	},
	{
		refusal: "the operator deletes no ConfigMap: pods mount it, and new ones would not start; " +
			"delete it yourself once nothing mounts it",
		attempts: []attempt{
			{"deletes a ConfigMap", func(ctx context.Context, a account) error {
				return a.kube.CoreV1().ConfigMaps(guarded).Delete(ctx, ownMap, metav1.DeleteOptions{})
			}},
			{"deletes every ConfigMap", func(ctx context.Context, a account) error {
				return a.kube.CoreV1().ConfigMaps(guarded).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			}},
		},
	},
}
