package prediction

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FuzzParse checks that a VerticalPodAutoscaler of any content is refused, or gives predictions, in a moment.
func FuzzParse(f *testing.F) {
	const head = `{"metadata":{"name":"a","namespace":"b"},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},`
	for _, seed := range []string{
		head + `"resourcePolicy":{"containerPolicies":[{"containerName":"*","minAllowed":{"cpu":"1"},"maxAllowed":{"cpu":"100m"}}]}},` +
			`"status":{"recommendation":{"containerRecommendations":[{"containerName":"c","target":{"cpu":"250m","memory":"1Gi"}}]}}}`,
		head + `"startupBoost":{"cpu":{"type":"Factor","factor":9223372036854775807}}},"status":{"recommendation":{"containerRecommendations":[{"containerName":"c","target":{"cpu":"8E"}}]}}}`,
		head + `"startupBoost":{"cpu":{"type":"Quantity","quantity":"1e-999999999"}}}}`, head + `"updatePolicy":{"updateMode":"Off"}}}`, `{"spec":{}}`, `{"status":null}`,
		head + `"resourcePolicy":{"containerPolicies":[{"MINALLOWED":{"cpu":"1e999999999"}}]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(text, &u.Object) != nil || u.Object == nil {
			return
		}
		began := time.Now()
		a, err := Parse(u)
		if err == nil {
			for target, containers := range Resolve([]Autoscaler{a}) {
				if !a.active() || target != a.target() {
					t.Errorf("%s: a prediction for %+v", text, target)
				}
				for name, c := range containers {
					if _, err := json.Marshal(c); err != nil {
						t.Errorf("%s: container %s: %v", text, name, err)
					}
				}
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s takes %s", text, took)
		}
	})
}
