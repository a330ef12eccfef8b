package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// claimsOf expands text and describes every claim: namespace/name, its class, and the volume and phase if it is bound.
func claimsOf(t *testing.T, text string) []string {
	t.Helper()
	m, err := newReader(t).Read("in.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range Expand(m.Objects) {
		claim, ok := o.(*corev1.PersistentVolumeClaim)
		if !ok {
			continue
		}
		line := claim.Namespace + "/" + claim.Name + " of class "
		if claim.Spec.StorageClassName == nil {
			line += "(none)"
		} else {
			line += *claim.Spec.StorageClassName
		}
		if claim.Annotations[bindCompleted] != "" {
			line += " on " + claim.Spec.VolumeName
		}
		out = append(out, line+" "+string(claim.Status.Phase))
	}
	return out
}

const volumePod = "containers: [{name: c, image: i}]"

func TestStatefulSetsGetTheirClaims(t *testing.T) {
	text := `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      ` + volumePod + `
      volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: fast}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-1, namespace: shop}
spec: {storageClassName: slow}
`
	if diff := cmp.Diff([]string{"shop/data-db-0 of class fast Pending", "shop/data-db-1 of class slow Pending"}, claimsOf(t, text)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	for i, pod := range podsOf(t, text) {
		var got []string
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				got = append(got, v.Name+": "+v.PersistentVolumeClaim.ClaimName)
			} else {
				got = append(got, v.Name)
			}
		}
		want := []string{"tmp", "data: data-db-" + string(rune('0'+i))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("volumes of %s (-want +got):\n%s", pod.Name, diff)
		}
	}
}

func TestEphemeralVolumesGetTheirClaims(t *testing.T) {
	t.Attr("covers", "L286")
	workload := func(class string) string {
		return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      ` + volumePod + `
      volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {` + class + `}}}}]
`
	}
	class := func(name, created, annotation string) string {
		return "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nprovisioner: p\nmetadata:\n  name: " + name +
			"\n  creationTimestamp: " + created + "\n  annotations: {" + annotation + "}\n"
	}
	const is, was = `storageclass.kubernetes.io/is-default-class: "true"`, `storageclass.beta.kubernetes.io/is-default-class: "true"`
	for _, c := range []struct{ name, text, want string }{
		{"explicit", workload("storageClassName: fast") + class("slow", "2026-01-01T00:00:00Z", is), "fast"},
		{"explicitly none", workload(`storageClassName: ""`) + class("slow", "2026-01-01T00:00:00Z", is), ""},
		{"default", workload("") + class("other", "2026-01-02T00:00:00Z", "") + class("slow", "2026-01-01T00:00:00Z", is), "slow"},
		{"default of old", workload("") + class("slow", "2026-01-01T00:00:00Z", was), "slow"},
		{"newest default", workload("") + class("a", "2026-01-01T00:00:00Z", is) + class("b", "2026-01-02T00:00:00Z", is), "b"},
		{"equally new", workload("") + class("b", "2026-01-01T00:00:00Z", is) + class("a", "2026-01-01T00:00:00Z", is), "a"},
		{"no default", workload("") + class("slow", "2026-01-01T00:00:00Z", ""), "(none)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{"default/web-1-scratch of class " + c.want + " Pending"}, claimsOf(t, c.text)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsAndVolumesThatNameEachOtherAreBound(t *testing.T) {
	t.Attr("covers", "L290")
	claim := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: \"\"" + spec + "}\n"
	}
	volume := func(name, spec string) string {
		return "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name + "}\nspec: {capacity: {storage: 1Gi}" + spec + "}\n"
	}
	const mine, other = ", claimRef: {namespace: default, name: data}", ", claimRef: {namespace: default, name: other}"
	for _, c := range []struct{ name, text, want string }{
		{"the claim names a free volume", claim(", volumeName: v") + volume("v", ""), " on v Bound"},
		{"the volume names the claim", claim("") + volume("v", mine), " on v Bound"},
		{"the first of two volumes", claim("") + volume("w", mine) + volume("v", mine), " on v Bound"},
		{"the volume is taken", claim(", volumeName: v") + volume("v", other), " Pending"},
		{"the volume is not there", claim(", volumeName: v"), " Pending"},
		{"neither names the other", claim("") + volume("v", ""), " Pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{"default/data of class " + c.want}, claimsOf(t, c.text)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}
