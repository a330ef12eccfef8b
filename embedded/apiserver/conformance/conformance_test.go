package conformance_test

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/front"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

var update = flag.Bool("update", false, "record the answers of kube-apiserver")

// TestMain runs more scenarios at once than there are processors: most of them wait for the ends of watches.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	m.Run()
}

// start runs an API server in memory on a loopback port.
func start(t *testing.T, options registry.Options) (*front.Server, string) {
	t.Helper()
	next := 0
	options.Now = time.Now
	options.UID = func() types.UID {
		next++
		return types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", next))
	}
	options.Suffix = func() string {
		next++
		return fmt.Sprintf("%05d", next)
	}
	r, err := registry.New(options)
	if err != nil {
		t.Fatal(err)
	}
	s := front.New(r, front.Options{Version: version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"}, BookmarkEvery: 100 * time.Millisecond})
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	return s, listener.URL
}

// gates are the directories of scenarios with the feature gate that their servers need.
var gates = []struct {
	dir     string
	options registry.Options
	flags   []string
}{
	{"testdata", registry.Options{History: 1000}, nil},
	{"testdata/generic-workload", registry.Options{History: 1000, GenericWorkload: true}, []string{"feature-gates=GenericWorkload=true", "runtime-config=scheduling.k8s.io/v1beta1=true"}},
}

func TestScenarios(t *testing.T) {
	for _, gate := range gates {
		_, url := start(t, gate.options)
		for _, s := range load(t, gate.dir) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.check(t, s.run(t, newTarget(url, nil)))
			})
		}
	}
}

// minScenarios is how many scenarios each server has to pass.
const minScenarios = 100

// TestScenariosOfSimulations runs the scenarios with the options that simulations of test/sim use: without managed fields, and with all features on.
// Scenarios whose answers have managed fields are left out.
func TestScenariosOfSimulations(t *testing.T) {
	_, url := start(t, registry.Options{History: 200_000, GenericWorkload: true, Untracked: true})
	passed := 0
	for _, gate := range gates {
		for _, s := range load(t, gate.dir) {
			if s.has("managedFields") || s.has("application/apply-patch") {
				continue
			}
			passed++
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.check(t, s.run(t, newTarget(url, nil)))
			})
		}
	}
	if passed < minScenarios {
		t.Errorf("%d scenarios, want at least %d", passed, minScenarios)
	}
}

// TestThereAreEnoughScenarios counts the scenarios that run on both servers.
func TestThereAreEnoughScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, gate := range gates {
		for _, s := range load(t, gate.dir) {
			if names[s.name] {
				t.Errorf("%s is there twice", s.name)
			}
			names[s.name] = true
		}
	}
	if len(names) < minScenarios {
		t.Errorf("%d scenarios, want at least %d", len(names), minScenarios)
	}
	t.Logf("%d scenarios", len(names))
}

// TestKubeAPIServerAgrees runs the scenarios against kube-apiserver, whose answers are right.
func TestKubeAPIServerAgrees(t *testing.T) {
	for _, gate := range gates {
		config := crdtest.Server(t, nil, gate.flags...)
		trust, err := rest.TLSConfigFor(config)
		if err != nil {
			t.Fatal(err)
		}
		to := newTarget(strings.TrimRight(config.Host, "/"), trust)
		for _, s := range load(t, gate.dir) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				got := s.run(t, to)
				if *update {
					s.record(t, got)
				} else {
					s.check(t, got)
				}
			})
		}
	}
}
