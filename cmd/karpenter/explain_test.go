package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const shop = "../../examples/explain/shop.yaml"

// explained runs "karpenter explain" without the environment of the host.
func explained(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	code = run(append([]string{"explain"}, args...), none, streams{strings.NewReader(stdin), &out, &err})
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
		{"a pod", "pod small -n shop --snapshot " + shop, exitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"from standard input", "pod gated --snapshot -", exitOK, "Pod default/gated is on no node\n", ofTheSnapshot},
		{"no such pod", "pod small --snapshot " + shop, exitNotFound, "", `pod "small" in namespace "default": not found`},
		{"a node", "node node-2 --snapshot " + shop, exitOK, "Node node-2 (NodeClaim \"web-2\", NodePool \"web\") costs $0.1086/h, has 0 pods to move\n", ofTheSnapshot},
		{"no such node", "node small --snapshot " + shop, exitNotFound, "", `node "small": not found`},
		{"a NodePool", "nodepool web --snapshot " + shop, exitOK, "NodePool web has 2 nodes, $0.2172/h\n", ofTheSnapshot},
		{"no such NodePool", "nodepool small --snapshot " + shop, exitNotFound, "", `nodepool "small": not found`},
		{"nothing named", "pod --snapshot " + shop, exitUsage, "", "expected"},
		{"nothing at all", "", exitUsage, "", "expected"},
		{"what cannot be explained", "deployment web --snapshot " + shop, exitUsage, "", `unknown kind "deployment": use pod, node, nodeclaim, nodepool`},
		{"a mistyped kind", "nodepol/web --snapshot " + shop, exitUsage, "", `unknown kind "nodepol": use pod, node, nodeclaim, nodepool`},
		{"a kind and no name", "pod/ --snapshot " + shop, exitUsage, "", `"pod/" has no name`},
		{"a kind in capitals and no name", "Pods --snapshot " + shop, exitUsage, "", "expected the name of a pod"},
		{"the kind twice", "pod pod/small --snapshot " + shop, exitUsage, "", `the kind is given already: "pod/small" must be a name only`},
		{"a name without a kind", "pod/small small --snapshot " + shop, exitUsage, "", `"small" has no kind`},
		{"pod/NAME", "pod/small -n shop --snapshot " + shop, exitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"pod/NAME after flags", "-n shop --snapshot " + shop + " po/small", exitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"a pod by the plural", "pods small --namespace=shop --snapshot " + shop, exitOK, "Pod shop/small is pending and fits a node\n", ofTheSnapshot},
		{"a node by the short name", "no node-2 --snapshot " + shop, exitOK, "Node node-2 (NodeClaim", ofTheSnapshot},
		{"a NodePool by the short name", "np web --snapshot " + shop, exitOK, "NodePool web has", ofTheSnapshot},
		{"a NodePool as kubectl prints it", "nodepool.karpenter.sh/web --snapshot " + shop, exitOK, "NodePool web has", ofTheSnapshot},
		{"a NodeClaim", "nodeclaim web-2 --snapshot " + shop, exitOK, "Node node-2 (NodeClaim \"web-2\"", ofTheSnapshot},
		{"a NodeClaim by the short name", "nc/web-2 --snapshot " + shop, exitOK, "Node node-2 (NodeClaim \"web-2\"", ofTheSnapshot},
		{"no such NodeClaim", "nodeclaim node-2 --snapshot " + shop, exitNotFound, "", `nodeclaim "node-2": not found` + "\n"},
		{"a pod of another namespace", "pod small --snapshot " + shop, exitNotFound, "", `pod "small" in namespace "default": not found, but there is one in namespace "shop"`},
		{"a mistyped pod", "pod smal -n shop --snapshot " + shop, exitNotFound, "", `not found, did you mean "small"?`},
		{"a mistyped node", "node nod-2 --snapshot " + shop, exitNotFound, "", `node "nod-2": not found, did you mean "node-2"?`},
		{"a mistyped NodePool", "nodepool bacth --snapshot " + shop, exitNotFound, "", `nodepool "bacth": not found`},
		{"a mistyped flag", "pod small --snapshoot " + shop, exitUsage, "", `--snapshot`},
		{"an unknown flag", "pod small --colour", exitUsage, "", "--colour"},
		{"an unknown format", "pod small -o yaml", exitUsage, "", "output"},
		{"an unknown catalogue", "pod small --catalog nope", exitUsage, "", `unknown catalog "nope"`},
		{"no such snapshot", "pod small --snapshot /does/not/exist", exitUsage, "", "/does/not/exist"},
		{"no server answers", "pod small --kubeconfig " + kubeconfig(t, "http://127.0.0.1:1"), exitFailed, "", "reading the cluster at http://127.0.0.1:1"},
		{"a live cluster", "pod small --kubeconfig " + kubeconfig(t, namespaces(t)), exitNotFound, "", "not found"},
		{"a live cluster without the kinds", "nodepool web --kubeconfig " + kubeconfig(t, namespaces(t)), exitFailed, "", "does not serve objects of kind NodePool: apply"},
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

// TestExplainCases runs the cases of testdata/explain.
func TestExplainCases(t *testing.T) {
	runCases(t, "explain", func(_ *testing.T, stdin string, args []string) outcome {
		return command(stdin, append([]string{"explain"}, args...)...)
	})
}

// TestExplainSaysWhatItDoesNotKnow: prices of another region than the cluster's do not apply.
func TestExplainSaysWhatItDoesNotKnow(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/simulate/snapshot-of-an-unknown-region.txtar")
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := explained(string(archive.Files[1].Data), "pod", "waits", "-n", "shop", "--snapshot", "-")
	if code != exitOK || stdout == "" || !strings.Contains(stderr, "karpenter explain: note: no region is named: instance types and prices are those of aws/us-east-1") {
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
	if want := "shop/odd"; code != exitOK || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, stderr %q; want %d and %q in it", code, stderr, exitOK, want)
	}
}

func TestExplainASnapshotOfAWS(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/simulate/snapshot-on-aws.txtar")
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
			if code != exitOK || !strings.Contains(stdout, text) {
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
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v:\n%s", code, err, stdout)
	}
	if got.Version != "v1" || got.Kind != "Pod" || got.State != "Refused" || got.Fate.Outcome != "Refused" {
		t.Errorf("%+v", got)
	}
	if r := got.Fate.Reasons; len(r) != 2 || r[0].NodePool != "web" || r[0].Code != "NoInstanceType" || r[1].NodePool != "batch" || r[1].Code != "TaintNotTolerated" || r[1].Help == "" {
		t.Errorf("%+v", r)
	}
}
