package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func TestSnapshotsKeepTheNamespacesOfTheirTime(t *testing.T) {
	s := newStore()
	prod := namespace("shop", map[string]string{"env": "prod"})
	s.Namespaces.Update(prod)
	s.Namespaces.Update(namespace("bare", nil))
	first := s.Snapshot()
	s.Namespaces.Update(namespace("shop", map[string]string{"env": "test"}))
	second := s.Snapshot()
	s.Namespaces.Delete("bare")
	third := s.Snapshot()
	for _, c := range []struct {
		name string
		got  map[string]map[string]string
		want map[string]map[string]string
	}{
		{"first", first.Namespaces, map[string]map[string]string{"shop": {"env": "prod"}, "bare": nil}},
		{"second", second.Namespaces, map[string]map[string]string{"shop": {"env": "test"}, "bare": nil}},
		{"third", third.Namespaces, map[string]map[string]string{"shop": {"env": "test"}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("the %s snapshot (-want +got):\n%s", c.name, diff)
		}
	}
	s.Namespaces.Update(namespace("shop", map[string]string{"env": "test"}))
	s.Namespaces.Delete("never-there")
	if s.Snapshot() != third {
		t.Error("news that change nothing make another snapshot")
	}
}
