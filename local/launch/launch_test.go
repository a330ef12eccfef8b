package launch

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/local/binaries"
	"github.com/karpenter-anew/karpenter/local/stages"
)

func TestRecordOfTheLivingIsLeftAlone(t *testing.T) {
	reg := registry{dir: filepath.Join(t.TempDir(), "clusters")}
	dir := filepath.Join(t.TempDir(), "cluster")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	owner, err := reg.claim(record{Dir: dir, Kubeconfig: dir + "/kubeconfig", Owner: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := sweep(reg, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the sweep took the directory of a living launcher: %v", err)
	}
	if only, err := onlyCluster(reg); err != nil || only != dir {
		t.Errorf("only cluster %q (%v), want %q", only, err, dir)
	}
	_ = owner.file.Close() // what the kernel does when the owner dies
	if err := sweep(reg, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the sweep left the directory of a dead launcher (%v)", err)
	}
	if _, err := onlyCluster(reg); err == nil {
		t.Error("a cluster is left in the registry")
	}
}

// TestLaunchersChooseDifferentPorts: the components listen seconds after their ports are chosen, and another launcher may choose meanwhile.
func TestLaunchersChooseDifferentPorts(t *testing.T) {
	reg := registry{dir: t.TempDir()}
	seen := map[int]bool{}
	const launchers = 60 // without a record, 360 of 12 000 ports would meet in all but few runs
	for range launchers {
		c, err := reg.claim(record{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.drop() })
		if err := reg.choosePorts(c); err != nil {
			t.Fatal(err)
		}
		for _, port := range c.Ports {
			if seen[port] {
				t.Errorf("port %d is chosen twice", port)
			}
			seen[port] = true
		}
	}
	if len(seen) != launchers*portsNeeded {
		t.Errorf("%d ports, want %d", len(seen), launchers*portsNeeded)
	}
	if dead, alive, err := reg.orphans(); err != nil || len(dead) > 0 || len(alive) != launchers || len(alive[0].Ports) != portsNeeded {
		t.Errorf("records: %d dead, %d alive, %v", len(dead), len(alive), err)
	}
}

func TestRecordCutShortIsDropped(t *testing.T) {
	reg := registry{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(reg.dir, "x.json"), []byte(`{"dir":"/`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sweep(reg, io.Discard); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(reg.dir + "/*.json"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestGivenDirectoryIsKept(t *testing.T) {
	dir := t.TempDir()
	rec, err := plan(Options{Dir: dir})
	if err != nil || !rec.KeepDir || rec.Dir != dir || rec.Kubeconfig != dir+"/kubeconfig" {
		t.Fatalf("record %+v, error %v", rec, err)
	}
	reg := registry{dir: t.TempDir()}
	c, err := reg.claim(rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/kwok/clusters", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.remove(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("entries %v, error %v; want an empty directory", entries, err)
	}
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(50, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port < firstPort || port > lastPort {
			t.Errorf("port %d twice, or out of range", port)
		}
		seen[port] = true
	}
}

// TestConfiguration: kwokctl fetches whatever program it is not given, so every one must be named.
func TestConfiguration(t *testing.T) {
	cache := binaries.Cache{Root: "/cache", Versions: binaries.Versions{Kubernetes: "v1.2.3", Etcd: "v3", Kwok: "v0"}}
	text, err := configuration(Options{Cache: cache, ServiceRange: "fd00:10::/108", Admission: "A,B", Controllers: "*,-c"}, []int{1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	var config kwokctlConfig
	first, rest, _ := strings.Cut(string(text), "---\n")
	_, rest, _ = strings.Cut(rest, "---\n")
	if err := yaml.Unmarshal([]byte(first), &config); err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"etcdBinary", "kubeApiserverBinary", "kubeControllerManagerBinary", "kubeSchedulerBinary", "kubectlBinary", "kwokControllerBinary"} {
		if path, _ := config.Options[option].(string); !strings.HasPrefix(path, cache.Bin()+"/") {
			t.Errorf("option %s is %q", option, path)
		}
	}
	for _, patch := range config.Patches {
		for _, arg := range []extraArg{{Key: "service-cluster-ip-range", Value: "fd00:10::/108"}, {Key: "enable-admission-plugins", Value: "A,B"}} {
			if given := slices.Contains(patch.ExtraArgs, arg); given != (patch.Name == apiServer) {
				t.Errorf("%s is told %s: %t", patch.Name, arg.Key, given)
			}
		}
	}
	if !strings.Contains(first, `"value": "*,-c"`) {
		t.Errorf("kube-controller-manager is not told its controllers:\n%s", first)
	}
	usual, err := configuration(Options{Cache: cache}, []int{1, 2, 3, 4, 5, 6})
	if err != nil || strings.Contains(string(usual), "service-cluster-ip-range") || strings.Contains(string(usual), "admission-plugins") || strings.Contains(string(usual), `"controllers"`) {
		t.Errorf("what was not asked for is there, or an error: %v", err)
	}
	behaviour, err := stages.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if "---\n"+rest != string(behaviour) || strings.Count(rest, "kind: Stage") != 9 {
		t.Errorf("the configuration must end with the 9 stages:\n%s", rest)
	}
}

func TestRecordedFlag(t *testing.T) {
	c := recordedComponent{Args: []string{"--secure-port=1", "--secure-port-extra=9", "--secure-port=2"}}
	if got := c.flag("secure-port"); got != "2" {
		t.Errorf("flag %q, want 2", got)
	}
}
