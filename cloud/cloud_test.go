package cloud_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func twoClasses() cloud.Cloud {
	return cloud.Cloud{NodeClasses: []cloud.NodeClass{
		{GVK: schema.GroupVersionKind{Group: "one.example.com", Version: "v1", Kind: "BigClass"}},
		{GVK: schema.GroupVersionKind{Group: "one.example.com", Version: "v1", Kind: "SmallClass"}},
	}}
}

func TestManages(t *testing.T) {
	for _, tt := range []struct {
		name string
		ref  *v1.NodeClassReference
		want bool
	}{
		{"first kind", &v1.NodeClassReference{Group: "one.example.com", Kind: "BigClass", Name: "a"}, true},
		{"second kind", &v1.NodeClassReference{Group: "one.example.com", Kind: "SmallClass", Name: "a"}, true},
		{"other kind", &v1.NodeClassReference{Group: "one.example.com", Kind: "Other", Name: "a"}, false},
		{"other group", &v1.NodeClassReference{Group: "two.example.com", Kind: "BigClass", Name: "a"}, false},
		{"no reference", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := twoClasses().Manages(tt.ref); got != tt.want {
				t.Errorf("managed: %t", got)
			}
		})
	}
}

func TestManagesNode(t *testing.T) {
	for _, tt := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"label of a kind, whatever its value", map[string]string{"one.example.com/smallclass": ""}, true},
		{"label of another kind", map[string]string{"one.example.com/other": "a"}, false},
		{"no labels", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tt.labels}}
			if got := twoClasses().ManagesNode(node); got != tt.want {
				t.Errorf("managed: %t", got)
			}
		})
	}
	if twoClasses().ManagesNode(nil) {
		t.Error("no node is managed")
	}
}

func TestWithDefaults(t *testing.T) {
	if got := (cloud.Cloud{}).WithDefaults(); got.LaunchTimeout != 5*time.Minute || got.MaxInstanceTypes != 600 || got.OrphanAge != 30*time.Second {
		t.Errorf("defaults are %s, %d and %s", got.LaunchTimeout, got.MaxInstanceTypes, got.OrphanAge)
	}
	got := cloud.Cloud{LaunchTimeout: time.Second, MaxInstanceTypes: 3, OrphanAge: time.Hour}.WithDefaults()
	if got.LaunchTimeout != time.Second || got.MaxInstanceTypes != 3 || got.OrphanAge != time.Hour {
		t.Errorf("given numbers became %s, %d and %s", got.LaunchTimeout, got.MaxInstanceTypes, got.OrphanAge)
	}
}
