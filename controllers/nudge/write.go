// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/controllers/internal/answer"
)

// writeTimeout ends a write that gets no answer, so that it does not take the place
// of others for ever.
const writeTimeout = 10 * time.Second

// annotate writes a document's revision into the annotation of a pod, and touches
// nothing else: the patch carries no resourceVersion, because the kubelet may write the
// status at any moment and that is none of our business; but it carries the uid, which
// lets it meet no other pod of the same name.
func annotate(ctx context.Context, c client.Client, owner string, j job) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	// Of the answer only the metadata are decoded.
	pod := &metav1.PartialObjectMetadata{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	pod.Namespace, pod.Name = j.configMap.Namespace, j.pod.name
	return c.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch(j)), client.FieldOwner(owner))
}

func patch(j job) []byte {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         j.pod.uid,
		"annotations": map[string]string{Annotation(j.configMap.Name): j.doc.Revision},
	}})
	if err != nil {
		panic(err) // strings always marshal
	}
	return text
}

// result is what came of a nudge. It is a label of the metric, but for skipped.
type result string

const (
	sent      result = "Sent"
	gone      result = "Gone"      // the pod is no more
	overtaken result = "Overtaken" // by other writes of the pod, time and again
	refused   result = "Refused"   // by RBAC, a policy or a webhook
	failed    result = "Failed"

	skipped result = "" // when its turn came, the pod was not to be nudged any more
)

// resultOf tells what the API server's answer means.
func resultOf(err error) result {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil:
		return sent
	case !answered:
		return failed
	case answer.Gone(err), answer.Replaced(err):
		return gone
	case apierrors.IsConflict(err):
		return overtaken
	}
	switch status.ErrStatus.Code {
	case http.StatusGone:
		return gone
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity:
		return refused
	}
	return failed
}
