package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

const shop = "../../../examples/explain/shop.yaml"

// line is a command line with karpenter explain.
func line() any {
	return &struct {
		Explain Command `cmd:""`
	}{New(commandtest.Binary())}
}

// explained runs "karpenter explain" without the environment of the host.
func explained(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = commandtest.Code(line(), command.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err}, append([]string{"explain"}, args...)...)
	return code, out.String(), err.String()
}

// inNamespace is a kubeconfig with a namespace in its context.
func inNamespace(t *testing.T, url, namespace string) string {
	t.Helper()
	path := commandtest.Kubeconfig(t, url)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "{cluster: c}", "{cluster: c, namespace: "+namespace+"}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExplain(t *testing.T) {
	text, err := os.ReadFile(shop)
	if err != nil {
		t.Fatal(err)
	}
	const ofTheSnapshot = "karpenter explain: settings: defaults; the snapshot does not have the settings of the controller; give its flags, such as --catalog; instance types and prices: catalog generic\n"
	for _, c := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string
	}{
		{"a pod", "pod small -n shop --snapshot " + shop, command.ExitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"from standard input", "pod gated --snapshot -", command.ExitOK, "Pod default/gated is on no node\n", ofTheSnapshot},
		{"no such pod", "pod small --snapshot " + shop, command.ExitNotFound, "", `pod "small" in namespace "default": not found`},
		{"a node", "node node-2 --snapshot " + shop, command.ExitOK, "Node node-2 (NodeClaim \"web-2\", NodePool \"web\") costs $0.1086/h, has 0 pods to move\n", ofTheSnapshot},
		{"no such node", "node small --snapshot " + shop, command.ExitNotFound, "", `node "small": not found`},
		{"a NodePool", "nodepool web --snapshot " + shop, command.ExitOK, "NodePool web has 2 nodes, $0.2172/h\n", ofTheSnapshot},
		{"no such NodePool", "nodepool small --snapshot " + shop, command.ExitNotFound, "", `nodepool "small": not found`},
		{"nothing named", "pod --snapshot " + shop, command.ExitUsage, "", `missing argument: "karpenter explain pod" needs <name>`},
		{"nothing at all", "", command.ExitUsage, "", "expected"},
		{"what cannot be explained", "service web --snapshot " + shop, command.ExitUsage, "", `unknown kind "service": use pod, node, nodeclaim, nodepool, deployment`},
		{"a mistyped kind", "nodepol/web --snapshot " + shop, command.ExitUsage, "", `unknown kind "nodepol", did you mean "nodepool"?`},
		{"a kind and no name", "pod/ --snapshot " + shop, command.ExitUsage, "", `"pod/" has no name`},
		{"a kind in capitals and no name", "Pods --snapshot " + shop, command.ExitUsage, "", "expected the name of a pod"},
		{"the kind twice", "pod pod/small --snapshot " + shop, command.ExitUsage, "", `the kind is given already: "pod/small" must be a name only`},
		{"a name without a kind", "pod/small small --snapshot " + shop, command.ExitUsage, "", `"small" has no kind`},
		{"pod/NAME", "pod/small -n shop --snapshot " + shop, command.ExitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"pod/NAME after flags", "-n shop --snapshot " + shop + " po/small", command.ExitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"a pod by the plural", "pods small --namespace=shop --snapshot " + shop, command.ExitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"a node by the short name", "no node-2 --snapshot " + shop, command.ExitOK, "Node node-2 (NodeClaim", ofTheSnapshot},
		{"a NodePool by the short name", "np web --snapshot " + shop, command.ExitOK, "NodePool web has", ofTheSnapshot},
		{"a NodePool as kubectl prints it", "nodepool.karpenter.sh/web --snapshot " + shop, command.ExitOK, "NodePool web has", ofTheSnapshot},
		{"a NodeClaim", "nodeclaim web-2 --snapshot " + shop, command.ExitOK, "Node node-2 (NodeClaim \"web-2\"", ofTheSnapshot},
		{"a NodeClaim by the short name", "nc/web-2 --snapshot " + shop, command.ExitOK, "Node node-2 (NodeClaim \"web-2\"", ofTheSnapshot},
		{"no such NodeClaim", "nodeclaim node-2 --snapshot " + shop, command.ExitNotFound, "", `nodeclaim "node-2": not found` + "\n"},
		{"a pod of another namespace", "pod small --snapshot " + shop, command.ExitNotFound, "", `pod "small" in namespace "default": not found, but there is one in namespace "shop"`},
		{"a mistyped pod", "pod smal -n shop --snapshot " + shop, command.ExitNotFound, "", `not found, did you mean "small"?`},
		{"a mistyped node", "node nod-2 --snapshot " + shop, command.ExitNotFound, "", `node "nod-2": not found, did you mean "node-2"?`},
		{"a mistyped NodePool", "nodepool bacth --snapshot " + shop, command.ExitNotFound, "", `nodepool "bacth": not found`},
		{"a mistyped flag", "pod small --snapshoot " + shop, command.ExitUsage, "", `--snapshot`},
		{"an unknown flag", "pod small --colour", command.ExitUsage, "", "--colour"},
		{"an unknown format", "pod small -o xml", command.ExitUsage, "", `flag --output="xml": allowed: text, table, wide, json, yaml, name, jsonpath=TEMPLATE`},
		{"a template that is none", "pod small -o jsonpath={.state", command.ExitUsage, "", "the template is no JSONPath"},
		{"a JSONPath", "pod huge -n shop -o jsonpath={.state}/{.fate.reasons[0].code} --snapshot " + shop, command.ExitOK, "Refused/NoInstanceType\n", ofTheSnapshot},
		{"a JSONPath of several", "pod small huge -n shop -o jsonpath={.items[*].name} --snapshot " + shop, command.ExitOK, "small huge\n", ofTheSnapshot},
		{"YAML", "pod huge -n shop -o yaml --snapshot " + shop, command.ExitOK, "fate:\n", ofTheSnapshot},
		{"names", "pod/huge node/node-2 np/web -n shop -o name --snapshot " + shop, command.ExitOK, "pod/huge\nnode/node-2\nnodepool/web\n", ofTheSnapshot},
		{"a pod of any namespace", "pod small -A --snapshot " + shop, command.ExitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"a pod of no namespace", "pod tiny -A --snapshot " + shop, command.ExitNotFound, "", `pod "tiny" in namespace "default": not found`},
		{"all namespaces and one", "pod small -A -n shop --snapshot " + shop, command.ExitUsage, "", "--namespace and --all-namespaces cannot be used together"},
		{"a workload", "replicaset/front -n shop --snapshot " + shop, command.ExitOK, "ReplicaSet shop/front has 1 pod\n  1 pod is on a node: front-1\n    on node-", ofTheSnapshot},
		{"a workload of any namespace", "rs front -A --snapshot " + shop, command.ExitOK, "ReplicaSet shop/front has 1 pod\n", ofTheSnapshot},
		{"no such workload", "deploy front -n shop --snapshot " + shop, command.ExitNotFound, "", `deployment "front" in namespace "shop": not found`},
		{"a mistyped workload", "rs frnt -n shop --snapshot " + shop, command.ExitNotFound, "", `replicaset "frnt" in namespace "shop": not found, did you mean "front"?`},
		{"a snapshot that is watched", "pod small -w --snapshot " + shop, command.ExitUsage, "", "--watch is for a live cluster"},
		{"a watch without a pause", "pod small -w --interval=0s", command.ExitUsage, "", "--interval must be above 0s"},
		{"the namespace of the context", "pod small --kubeconfig " + inNamespace(t, commandtest.Namespaces(t), "team"), command.ExitNotFound, "", `pod "small" in namespace "team": not found`},
		{"another namespace than that of the context", "pod small -n shop --kubeconfig " + inNamespace(t, commandtest.Namespaces(t), "team"), command.ExitNotFound, "", `pod "small" in namespace "shop": not found`},
		{"an unknown catalogue", "pod small --catalog nope", command.ExitUsage, "", `unknown catalog "nope"`},
		{"no such snapshot", "pod small --snapshot /does/not/exist", command.ExitUsage, "", "/does/not/exist"},
		{"an empty snapshot", "pod small --snapshot /dev/null", command.ExitUsage, "", "the snapshot /dev/null is empty"},
		{"no server answers", "pod small --kubeconfig " + commandtest.Kubeconfig(t, "http://127.0.0.1:1"), command.ExitFailed, "", "reading the cluster at http://127.0.0.1:1"},
		{"a live cluster", "pod small --kubeconfig " + commandtest.Kubeconfig(t, commandtest.Namespaces(t)), command.ExitNotFound, "", "not found"},
		{"a live cluster without the kinds", "nodepool web --kubeconfig " + commandtest.Kubeconfig(t, commandtest.Namespaces(t)), command.ExitFailed, "", "does not serve objects of kind NodePool: apply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := explained(string(text), strings.Fields(c.args)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.HasPrefix(stdout, c.stdout) || (c.stdout == "") != (stdout == "") {
				t.Errorf("stdout is %q, want it to begin with %q", stdout, c.stdout)
			}
			if !strings.Contains(stderr, c.stderr) || (c.stderr == ofTheSnapshot) != (stderr == ofTheSnapshot) {
				t.Errorf("stderr is %q, want %q in it", stderr, c.stderr)
			}
		})
	}
}

// TestExplainCases runs the cases of testdata.
func TestExplainCases(t *testing.T) {
	commandtest.Cases(t, "testdata", func(_ *testing.T, stdin string, args []string) commandtest.Outcome {
		return commandtest.Run(line(), stdin, append([]string{"explain"}, args...)...)
	})
}

// TestExplainSaysWhatItDoesNotKnow: prices of another region than the cluster's do not apply.
func TestExplainSaysWhatItDoesNotKnow(t *testing.T) {
	archive, err := txtar.ParseFile("../simulate/testdata/snapshot-of-an-unknown-region.txtar")
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := explained(string(archive.Files[1].Data), "pod", "waits", "-n", "shop", "--snapshot", "-")
	if code != command.ExitOK || stdout == "" || !strings.Contains(stderr, "karpenter explain: note: no region is named: instance types and prices are those of aws/us-east-1") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestExplainSaysThatNamesAreRedacted: the name that a user knows is not in a redacted snapshot.
func TestExplainSaysThatNamesAreRedacted(t *testing.T) {
	archive, err := txtar.ParseFile("../../snapshot/testdata/everything.txtar")
	if err != nil {
		t.Fatal(err)
	}
	const want = "karpenter explain: the snapshot is redacted, so its names are pseudonyms: karpenter top --snapshot FILE shows them\n"
	for i, redacted := range map[int]bool{1: false, 2: true} {
		file := archive.Files[i]
		code, _, stderr := explained(string(file.Data), "pod", "small", "--snapshot", "-")
		if code != command.ExitNotFound || strings.Contains(stderr, want) != redacted {
			t.Errorf("%s: exit code %d, stderr %q; %q in it: want %t", file.Name, code, stderr, want, redacted)
		}
	}
}

// TestExplainASnapshotOfAWS: nodes and pools have the prices of their class, also what runs in a reservation.
func TestExplainNamesObjectsThatItCannotRead(t *testing.T) {
	text, err := os.ReadFile(shop)
	if err != nil {
		t.Fatal(err)
	}
	odd := `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: odd, namespace: shop}
spec:
  selector: {matchExpressions: [{key: app, operator: Like}]}
`
	code, _, stderr := explained(string(text)+odd, "node", "node-2", "--snapshot", "-")
	if want := "shop/odd"; code != command.ExitOK || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, stderr %q; want %d and %q in it", code, stderr, command.ExitOK, want)
	}
}

func TestExplainASnapshotOfAWS(t *testing.T) {
	archive, err := txtar.ParseFile("../simulate/testdata/snapshot-on-aws.txtar")
	if err != nil {
		t.Fatal(err)
	}
	taken := string(archive.Files[1].Data)
	for args, want := range map[string][]string{
		"pod waits -n shop --snapshot -":   {"Pod shop/waits is pending\n", "m5.large from NodePool default, on-demand in eu-west-1c, $0.1070/h"},
		"node node-1 --snapshot -":         {"Node node-1 (NodeClaim \"default-1\", NodePool \"default\") costs $0.0000/h, has 1 pod to move\n"},
		"nodepool default --snapshot -":    {"NodePool default has 1 node, $0.0000/h\n"},
		"node node-1 -o json --snapshot -": {`"pricePerHour": 1.07e-8`},
	} {
		code, stdout, stderr := explained(taken, strings.Fields(args)...)
		for _, text := range want {
			if code != command.ExitOK || !strings.Contains(stdout, text) {
				t.Errorf("%s: exit code %d, want %q in\n%s%s", args, code, text, stdout, stderr)
			}
		}
	}
}

func TestExplainAsJSON(t *testing.T) {
	code, stdout, _ := explained("", "pod", "huge", "-n", "shop", "--snapshot", shop, "-o", "json")
	var got struct {
		Version, Kind, State string
		Fate                 struct {
			Outcome string
			Reasons []struct{ NodePool, Code, Help string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != command.ExitOK {
		t.Fatalf("exit code %d, %v:\n%s", code, err, stdout)
	}
	if got.Version != "v1" || got.Kind != "Pod" || got.State != "Refused" || got.Fate.Outcome != "Refused" {
		t.Errorf("%+v", got)
	}
	if r := got.Fate.Reasons; len(r) != 3 || r[0].NodePool != "web" || r[0].Code != "NoInstanceType" || r[1].NodePool != "lost" || r[1].Code != "PoolNotUsed" ||
		r[2].NodePool != "batch" || r[2].Code != "TaintNotTolerated" || r[2].Help == "" {
		t.Errorf("%+v", r)
	}
}

// TestExplainADeployment: its pods are those of its ReplicaSets, grouped by answer.
func TestExplainADeployment(t *testing.T) {
	text, err := os.ReadFile(shop)
	if err != nil {
		t.Fatal(err)
	}
	var more strings.Builder
	for _, revision := range []string{"web-1", "web-2"} {
		fmt.Fprintf(&more, "---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %s, namespace: shop, uid: %[1]s, "+
			"ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]}, "+
			"spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}\n", revision)
	}
	for name, cpu := range map[string]string{"web-1-a": "64", "web-1-b": "64", "web-2-c": "100m"} {
		fmt.Fprintf(&more, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop, uid: %[1]s, "+
			"ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: x, controller: true}]}, "+
			"spec: {containers: [{name: a, resources: {requests: {cpu: %q}}}]}, "+
			"status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}}\n", name, name[:len("web-1")], cpu)
	}
	code, stdout, stderr := explained(string(text)+more.String(), "deployment/web", "-n", "shop", "--snapshot", "-")
	want := "Deployment shop/web has 3 pods\n  2 pods are pending and unschedulable: web-1-a, web-1-b\n    it fits no node:\n"
	if code != command.ExitOK || !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, "\n  1 pod is pending") || !strings.Contains(stdout, ": web-2-c\n") {
		t.Errorf("exit code %d, stdout %s\nstderr %s", code, stdout, stderr)
	}
	code, stdout, _ = explained(string(text)+more.String(), "deployment/web", "-n", "shop", "--snapshot", "-", "-o", "wide")
	for _, want := range []string{
		`(?m)^KIND +NAMESPACE +NAME +STATE +WHERE +WHY +COUNT +HELP$`,
		`(?m)^Deployment +shop +web +Refused +- +web:NoInstanceType,lost:PoolNotUsed,batch:TaintNotTolerated +2 +Lower the pod's requests`,
	} {
		if code != command.ExitOK || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("exit code %d, want %s in\n%s", code, want, stdout)
		}
	}
	code, stdout, _ = explained(string(text)+more.String(), "deployment/web", "-n", "shop", "--snapshot", "-", "-o", "jsonpath={.groups[0].pods}")
	if want := `["web-1-a","web-1-b"]` + "\n"; code != command.ExitOK || stdout != want {
		t.Errorf("exit code %d, %q, want %q", code, stdout, want)
	}
}

// TestExplainInATable has a line for each object, and the code of what blocks it.
func TestExplainInATable(t *testing.T) {
	code, stdout, _ := explained("", "pod/huge", "pod/small", "node/node-2", "np/web", "-n", "shop", "--snapshot", shop, "-o", "table")
	for _, want := range []string{
		`(?m)^KIND +NAMESPACE +NAME +STATE +WHERE +WHY$`,
		`(?m)^Pod +shop +huge +Refused +- +web:NoInstanceType,lost:PoolNotUsed,batch:TaintNotTolerated$`,
		`(?m)^Pod +shop +small +Nominated +node-\d +-$`,
		`(?m)^Node +- +node-2 +\w+ +web +\S+$`,
		`(?m)^NodePool +- +web +Launches +- +-$`,
	} {
		if code != command.ExitOK || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("exit code %d, want %s in\n%s", code, want, stdout)
		}
	}
}

// TestExplainInColor: on a terminal only, and without a change of the text.
func TestExplainInColor(t *testing.T) {
	args := []string{"explain", "pod", "huge", "-n", "shop", "--snapshot", shop}
	var colored, plain, stderr bytes.Buffer
	commandtest.Code(line(), command.Streams{Out: &colored, Err: &stderr, Color: true}, args...)
	commandtest.Code(line(), command.Streams{Out: &plain, Err: &stderr}, args...)
	if !strings.HasPrefix(colored.String(), "Pod shop/huge is \x1b[31mpending and unschedulable\x1b[0m\n") {
		t.Errorf("in color: %q", colored.String())
	}
	if bare := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(colored.String(), ""); bare != plain.String() || strings.Contains(plain.String(), "\x1b") {
		t.Errorf("without color: %q, want %q", plain.String(), bare)
	}
}
