// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// verdict is what no admission can refuse, because it shows only beside other
// objects, as the condition Ready then tells it.
type verdict struct{ what, name, spec, ready string }

// verdicts are a table for the spec below and for the reference in docs.
var verdicts = []verdict{
	{
		"a service that another bulkhead of the ConfigMap has", "payments-too", "{service: payments, limit: 1, reclaimAfter: 30s}",
		"False ServiceConflict: service payments belongs to ServiceBulkhead payments in ConfigMap service-bulkheads: delete one of the two",
	},
	{
		"a ConfigMap of that name that is somebody else's", "foreign", "{configMapName: foreign-bulkheads, limit: 1, reclaimAfter: 30s}",
		"False ConfigMapConflict: ConfigMap foreign-bulkheads exists and is not the operator's: delete or rename it, " +
			"or hand it over with the label servicebulkhead.io/managed=true",
	},
	{
		"a ConfigMap that somebody made immutable", "frozen", "{configMapName: frozen-bulkheads, limit: 1, reclaimAfter: 30s}",
		"False ConfigMapImmutable: ConfigMap frozen-bulkheads is immutable: delete it, and it is created again with the present values",
	},
}

var _ = Describe("What only shows beside other objects", func() {
	const namespace = "verdicts"

	It("is told by the status", func(ctx context.Context) {
		makeNamespace(ctx, namespace)
		maps := people.kube.CoreV1().ConfigMaps(namespace)
		for name, change := range map[string]func(*corev1.ConfigMap){
			"foreign-bulkheads": func(c *corev1.ConfigMap) { c.Labels = nil },
			"frozen-bulkheads":  func(c *corev1.ConfigMap) { c.Immutable = new(true) },
		} {
			_, err := maps.Create(ctx, newMap(name, change), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		startOperator(ctx, namespace)
		ready := func(name string) func(context.Context) string {
			return func(ctx context.Context) string { return condition(ctx, namespace, name, v1alpha1.ConditionReady) }
		}
		kubectl(ctx, "create", "-n", namespace, "-f", writeManifest("{limit: 1, reclaimAfter: 30s}"))
		Eventually(ready("payments")).WithContext(ctx).Should(HavePrefix("True Published: "))
		for _, v := range verdicts {
			kubectl(ctx, "create", "-n", namespace, "-f", writeFile("bulkhead.yaml",
				fmt.Sprintf("{apiVersion: servicebulkhead.io/v1alpha1, kind: ServiceBulkhead, metadata: {name: %s}, spec: %s}", v.name, v.spec)))
			Eventually(ready(v.name)).WithContext(ctx).Should(Equal(v.ready), v.what)
		}
	})
})

func addVerdicts(t *testing.T, all answers) {
	for _, v := range verdicts {
		all.add("verdicts", v.ready, fmt.Sprintf("%s: `metadata: {name: %s}, spec: %s`", v.what, v.name, v.spec))
	}
	crowd := make([]v1alpha1.ServiceBulkhead, bulkheadconfig.MaxServices+1)
	for i := range crowd {
		crowd[i] = newBulkhead(fmt.Sprintf("service-%03d", i))
	}
	all.add("verdicts", full(t, v1alpha1.Judge(crowd, nil, bulkheadconfig.MaxBytes)),
		fmt.Sprintf("one bulkhead more than the %d that one ConfigMap carries", bulkheadconfig.MaxServices))
	all.add("verdicts", full(t, v1alpha1.Judge(crowd[:2], nil, 300)),
		"a bulkhead for which other keys of the ConfigMap leave no room")
}

func newBulkhead(name string) v1alpha1.ServiceBulkhead {
	return v1alpha1.ServiceBulkhead{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(0, 0))},
		Spec:       v1alpha1.ServiceBulkheadSpec{Limit: new(int32(1)), ReclaimAfter: "30s"},
	}
}

// full returns what is said of the one bulkhead that there was no room for.
func full(t *testing.T, judged []v1alpha1.Verdict) string {
	t.Helper()
	var texts []string
	for _, v := range judged {
		if v.Reason == v1alpha1.ReasonDocumentFull {
			texts = append(texts, "False "+v.Reason+": "+v.Message)
		}
	}
	if len(texts) != 1 {
		t.Fatalf("got %q, want one", texts)
	}
	return texts[0]
}
