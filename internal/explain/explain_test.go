package explain

import (
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// noon is the time of these tests, on a Friday.
func noon() time.Time { return time.Date(2026, time.January, 2, 12, 0, 0, 0, time.UTC) }

// shop is the question about the cluster of testdata/shop.yaml, after changes to its objects.
func shop(t *testing.T, changes ...func([]client.Object)) Question {
	t.Helper()
	reader := scenariorun.Reader(t)
	f, err := os.Open("../../examples/explain/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := reader.Read("shop.yaml", f)
	if err != nil {
		t.Fatal(err)
	}
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(m.Objects)
	}
	return Question{Objects: m.Objects, Cloud: vendor, Options: simulation.Options{Now: noon()}}
}

// change applies a change to one object.
func change[T client.Object](name string, f func(T)) func([]client.Object) {
	return func(objects []client.Object) {
		for _, o := range objects {
			if found, ok := o.(T); ok && o.GetName() == name {
				f(found)
			}
		}
	}
}
