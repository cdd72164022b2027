// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// appLabel tells the pods of one application from those of another.
const appLabel = "app.kubernetes.io/name"

// nudgeLabel is by which pods ask to be told of changes.
const nudgeLabel, nudgeEnabled = "servicebulkhead.io/nudge", "enabled"

// bulkhead is one for the service of the same name, which sheds at once.
func bulkhead(namespace, name string, limit int32) *v1alpha1.ServiceBulkhead {
	return &v1alpha1.ServiceBulkhead{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.ServiceBulkheadSpec{Limit: &limit, ReclaimAfter: "30s"},
	}
}

// shop is the application: it calls payments at this address and mounts the
// ConfigMap, whole and optional. A test may change what it gets.
func shop(namespace, name string, replicas int32, paymentsURL string) *appsv1.Deployment {
	c := container("shop", setting("SERVICEBULKHEAD_IMAGE_SHOP", "servicebulkhead-shop:latest"), shopPort)
	c.Args = []string{
		"-listen=:" + strconv.Itoa(shopPort), "-bulkheads=/etc/servicebulkhead", "-payments=" + paymentsURL,
		"-lame-duck=3s", "-drain-timeout=20s", "-report=/dev/termination-log",
	}
	c.Env = []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "bulkheads", MountPath: "/etc/servicebulkhead", ReadOnly: true}}
	d := deployment(namespace, name, replicas, c)
	d.Spec.Template.Labels[nudgeLabel] = nudgeEnabled
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(45))
	d.Spec.Template.Spec.Volumes = []corev1.Volume{bulkheadsVolume(v1alpha1.DefaultConfigMapName)}
	return d
}

func bulkheadsVolume(configMap string) corev1.Volume {
	return corev1.Volume{Name: "bulkheads", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Optional: new(true),
	}}}
}

// payments is the slow service that the shop does not own.
func payments(namespace string) *appsv1.Deployment {
	c := container("payments", setting("SERVICEBULKHEAD_IMAGE_PAYMENTS", "servicebulkhead-payments:latest"), paymentsPort)
	c.Args = []string{"-listen=:" + strconv.Itoa(paymentsPort)}
	d := deployment(namespace, "payments", 1, c)
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(5))
	return d
}

// generator sends requests to a URL, so many a second.
func generator(namespace, url string, rate int) *appsv1.Deployment {
	c := container("generator", setting("SERVICEBULKHEAD_IMAGE_LOAD", "servicebulkhead-load:latest"), generatorPort)
	c.Args = []string{
		"-listen=:" + strconv.Itoa(generatorPort), "-url=" + url, "-rate=" + strconv.Itoa(rate), "-method=POST", "-report=/dev/termination-log",
	}
	return deployment(namespace, "generator", 1, c)
}

// service gives the pods of an application one address.
func service(namespace, app string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{appLabel: app},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(port)}},
		},
	}
}

// deployment runs a container, and meets the restricted Pod Security Standard.
func deployment(namespace, name string, replicas int32, c corev1.Container) *appsv1.Deployment {
	labels := map[string]string{appLabel: name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				AutomountServiceAccountToken: new(false),
				EnableServiceLinks:           new(false),
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{c},
			}},
		},
	}
}

func container(name, image string, port int) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{{ContainerPort: int32(port)}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt(port)}},
			PeriodSeconds: 1,
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}
