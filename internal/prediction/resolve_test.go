package prediction

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// autoscaler is a VerticalPodAutoscaler of the Deployment web, with more to its spec, that recommends 2 cores and 1Gi for
// each container.
func autoscaler(t *testing.T, name, created, spec string, containers ...string) Autoscaler {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "metadata: {namespace: shop, name: %s, creationTimestamp: %q}\n", name, created)
	fmt.Fprintf(&b, "spec:\n  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n%s\n", spec)
	b.WriteString("status:\n  recommendation:\n    containerRecommendations:\n")
	for _, c := range containers {
		fmt.Fprintf(&b, "    - {containerName: %s, target: {cpu: '2', memory: 1Gi, gpu: '1'}, upperBound: {cpu: '9'}}\n", c)
	}
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(b.String()), &u.Object); err != nil {
		t.Fatal(err)
	}
	a, err := Parse(&u)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

func web() Target {
	return Target{Namespace: "shop", APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
}

// describe returns the predictions for the Deployment web as text.
func describe(p Predictions) string {
	var out []string
	for name, c := range p[web()] {
		text := name
		for _, resource := range []string{"cpu", "memory", "gpu"} {
			for have, q := range c.Requests {
				if string(have) == resource {
					text += " " + resource + "=" + q.String()
				}
			}
		}
		if c.StartupCPU != nil {
			text += " startup=" + c.StartupCPU.String()
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func TestResolve(t *testing.T) {
	t.Attr("covers", "L398")
	for name, c := range map[string]struct{ spec, want string }{
		"the recommendation":            {"", "app cpu=2 memory=1Gi"},
		"mode Off":                      {"  updatePolicy: {updateMode: 'Off'}", ""},
		"mode Initial":                  {"  updatePolicy: {updateMode: Initial}", "app cpu=2 memory=1Gi"},
		"a container that is left out":  {"  resourcePolicy: {containerPolicies: [{containerName: app, mode: 'Off'}]}", ""},
		"all containers are left out":   {"  resourcePolicy: {containerPolicies: [{containerName: '*', mode: 'Off'}]}", ""},
		"a container beats the rest":    {"  resourcePolicy: {containerPolicies: [{containerName: app, mode: Auto}, {containerName: '*', mode: 'Off'}]}", "app cpu=2 memory=1Gi"},
		"the rest beats no container":   {"  resourcePolicy: {containerPolicies: [{containerName: '*', mode: 'Off'}, {containerName: app}]}", "app cpu=2 memory=1Gi"},
		"no more than allowed":          {"  resourcePolicy: {containerPolicies: [{containerName: app, maxAllowed: {cpu: 1500m}}]}", "app cpu=1500m memory=1Gi"},
		"no less than allowed":          {"  resourcePolicy: {containerPolicies: [{containerName: '*', minAllowed: {memory: 2Gi}}]}", "app cpu=2 memory=2Gi"},
		"one resource is controlled":    {"  resourcePolicy: {containerPolicies: [{containerName: app, controlledResources: [memory], minAllowed: {cpu: 3}}]}", "app memory=1Gi"},
		"nothing is controlled":         {"  resourcePolicy: {containerPolicies: [{containerName: app, controlledResources: []}]}", ""},
		"a factor at the start":         {"  startupBoost: {cpu: {type: Factor, factor: 3}}", "app cpu=2 memory=1Gi startup=6"},
		"a factor of one is none":       {"  startupBoost: {cpu: {type: Factor, factor: 1}}", "app cpu=2 memory=1Gi"},
		"a quantity at the start":       {"  startupBoost: {cpu: {type: Quantity, quantity: 500m}}", "app cpu=2 memory=1Gi startup=2500m"},
		"a container's boost beats all": {"  startupBoost: {cpu: {type: Factor, factor: 3}}\n  resourcePolicy: {containerPolicies: [{containerName: app, startupBoost: {cpu: {type: Quantity, quantity: 1}}}]}", "app cpu=2 memory=1Gi startup=3"},
		"a boost of what is allowed":    {"  startupBoost: {cpu: {type: Factor, factor: 2}}\n  resourcePolicy: {containerPolicies: [{containerName: app, maxAllowed: {cpu: 1}}]}", "app cpu=1 memory=1Gi startup=2"},
		"no boost without CPU":          {"  startupBoost: {cpu: {type: Factor, factor: 2}}\n  resourcePolicy: {containerPolicies: [{containerName: app, controlledResources: [memory]}]}", "app memory=1Gi"},
	} {
		if got := describe(Resolve([]Autoscaler{autoscaler(t, "a", early, c.spec, "app")})); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	silent := autoscaler(t, "a", early, "", "app")
	silent.Status.Recommendation = nil
	if got := len(Resolve([]Autoscaler{silent, {}})); got != 0 {
		t.Errorf("%d predictions of autoscalers without a recommendation or a target", got)
	}
}

func TestOneAutoscalerHasAWorkload(t *testing.T) {
	t.Attr("covers", "L398")
	least := func(cpu string) string {
		return "  resourcePolicy: {containerPolicies: [{containerName: app, minAllowed: {cpu: " + cpu + "}}]}"
	}
	old, young := autoscaler(t, "z", early, least("4"), "app"), autoscaler(t, "a", late, least("8"), "app")
	namesake := autoscaler(t, "b", early, least("16"), "app")
	off := autoscaler(t, "m", early, "  updatePolicy: {updateMode: 'Off'}", "app")
	for name, c := range map[string]struct {
		autoscalers []Autoscaler
		want        string
	}{
		"the oldest":                      {[]Autoscaler{young, old}, "app cpu=4 memory=1Gi"},
		"of equal age the first by name":  {[]Autoscaler{old, namesake}, "app cpu=16 memory=1Gi"},
		"the next when the oldest is off": {[]Autoscaler{off, young}, "app cpu=8 memory=1Gi"},
		"the next when the oldest goes":   {[]Autoscaler{young}, "app cpu=8 memory=1Gi"},
	} {
		if got := describe(Resolve(c.autoscalers)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	elsewhere := autoscaler(t, "x", early, "", "app")
	elsewhere.Namespace = "other"
	if got := len(Resolve([]Autoscaler{old, elsewhere})); got != 2 {
		t.Errorf("%d predictions for workloads of one name in two namespaces, want 2", got)
	}
}

func TestStore(t *testing.T) {
	t.Attr("covers", "L398 N268")
	var s Store
	if s.Complete() || s.Of(web()) != nil {
		t.Error("an empty store knows something")
	}
	p := Resolve([]Autoscaler{autoscaler(t, "a", early, "", "app")})
	s.Replace(p, false)
	if s.Complete() || s.Of(web()) == nil {
		t.Error("a round with gaps must count for what it has, and not as complete")
	}
	s.Replace(p, true)
	s.Replace(nil, false)
	if !s.Complete() || s.Of(web()) != nil {
		t.Error("what was complete once stays so, and what is gone is gone")
	}
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			s.Replace(p, true)
			s.Of(web())
			s.Complete()
		})
	}
	work.Wait()
}

// TestExponentsOfAnAutoscalerAreBounded: users of a namespace may create VerticalPodAutoscalers, whose definition admits any exponent. To read
// these quantities takes hours.
func TestExponentsOfAnAutoscalerAreBounded(t *testing.T) {
	for _, amount := range []string{"1e-999999999", "1e999999999"} {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "namespace": "b"}, "spec": map[string]any{
			"resourcePolicy": map[string]any{"containerPolicies": []any{map[string]any{"containerName": "*", "minAllowed": map[string]any{"cpu": amount}}}},
		}}}
		if _, err := Parse(u); err == nil || !strings.Contains(err.Error(), "b/a: spec.resourcePolicy.containerPolicies[0].minAllowed.cpu") {
			t.Errorf("%s: error %v", amount, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": "nothing"}}
	if _, err := Parse(u); err == nil || !strings.Contains(err.Error(), "a") {
		t.Errorf("error %v", err)
	}
}
