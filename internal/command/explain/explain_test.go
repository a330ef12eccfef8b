package explain

import (
	"bytes"
	"encoding/json"
	"os"
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
		{"what cannot be explained", "deployment web --snapshot " + shop, command.ExitUsage, "", `unknown kind "deployment": use pod, node, nodeclaim, nodepool`},
		{"a mistyped kind", "nodepol/web --snapshot " + shop, command.ExitUsage, "", `unknown kind "nodepol": use pod, node, nodeclaim, nodepool`},
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
		{"an unknown format", "pod small -o yaml", command.ExitUsage, "", "output"},
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
	if r := got.Fate.Reasons; len(r) != 2 || r[0].NodePool != "web" || r[0].Code != "NoInstanceType" || r[1].NodePool != "batch" || r[1].Code != "TaintNotTolerated" || r[1].Help == "" {
		t.Errorf("%+v", r)
	}
}
