package fakecluster

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Registrar is a controller that can be added to a manager.
type Registrar interface{ Register(manager.Manager) error }

// Register adds controllers to a manager that is never started, and fails the test if one cannot be added, because it watches an
// unknown kind or its name is taken.
func (w *Cluster) Register(t *testing.T, controllers ...Registrar) {
	t.Helper()
	m, err := manager.New(&rest.Config{Host: "http://127.0.0.1:0"}, manager.Options{
		Scheme:         w.API.Scheme(),
		Metrics:        server.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return w.API.RESTMapper(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range controllers {
		if err := c.Register(m); err != nil {
			t.Errorf("%T: %v", c, err)
		}
	}
}
