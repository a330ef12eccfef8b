package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const node = `
apiVersion: v1
kind: Node
metadata:
  name: simulated
  labels: {kwok.x-k8s.io/node: fake}
status:
  capacity: {cpu: "2k", memory: 4Ti, pods: "3k", example.com/gadget: "2"}
  allocatable: {cpu: "1900", memory: 3Ti, pods: "2900", example.com/gadget: "1"}
---
apiVersion: v1
kind: Node
metadata:
  name: stranger
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: many}
spec:
  replicas: 1000
  selector: {matchLabels: {app: many}}
  template:
    metadata: {labels: {app: many}}
    spec:
      terminationGracePeriodSeconds: 30
      containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]
`

const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none}]
`

// lonePod is a pod that is bound to the simulated node; annotations and finalizers are JSON.
func lonePod(name, annotations, finalizers string, grace int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"annotations":%s,"finalizers":%s},
		"spec":{"nodeName":"simulated","terminationGracePeriodSeconds":%d,"containers":[{"name":"main","image":"none"}]}}`,
		name, annotations, finalizers, grace)
}

// TestCluster shares one cluster between its parts, which run in order.
func TestCluster(t *testing.T) {
	cache := testCache(t)
	l := begin(t, cache).ready()
	for _, part := range []struct {
		name string
		test func(*testing.T, *launcher)
	}{
		{"versions parse", checkVersion},
		{"access control is on", checkRBAC},
		{"simulated nodes become ready and keep their capacity", checkNodes},
		{"a thousand pods run soon", checkManyPods},
		{"a job completes", checkJob},
		{"a deleted pod ends within seconds", checkQuickDelete},
		{"a finalizer holds a deleted pod", checkFinalizer},
		{"a stubborn pod uses its grace period", checkStubborn},
		{"a pod with a preStop hook takes that long", checkHooks},
		{"a failing pod fails", checkFailing},
		{"the API server comes back with its data", checkRestart},
	} {
		t.Run(part.name, func(t *testing.T) {
			shared := *l
			shared.t = t
			part.test(t, &shared)
		})
	}
	_ = l.stdin.Close()
	if log, err := l.end(); err != nil {
		t.Errorf("the launcher failed: %v\n%s", err, log)
	}
	l.nothingLeft(cache)
}

func checkVersion(t *testing.T, l *launcher) {
	var version struct {
		ServerVersion struct{ GitVersion string }
		ClientVersion struct{ GitVersion string }
	}
	if err := json.Unmarshal([]byte(l.run("", "version", "-o", "json")), &version); err != nil {
		t.Fatal(err)
	}
	if version.ServerVersion.GitVersion != "v1.37.1" || version.ClientVersion.GitVersion != "v1.37.1" {
		t.Errorf("versions: %+v", version)
	}
}

func checkRBAC(t *testing.T, l *launcher) {
	token := l.run("", "create", "token", "default")
	// The administrator's certificate would win over a token, so this client starts without a kubeconfig.
	server := l.run("", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
	text, err := exec.Command(l.kubectl, "--kubeconfig=/dev/null", "--server="+server, "--insecure-skip-tls-verify",
		"--token="+token, "get", "nodes").CombinedOutput()
	if err == nil || !strings.Contains(string(text), `User "system:serviceaccount:default:default" cannot list resource "nodes"`) {
		t.Errorf("a token without rights: %v\n%s", err, text)
	}
}

func checkNodes(t *testing.T, l *launcher) {
	l.run(node, "apply", "-f", "-")
	const ready = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`
	l.eventually("True", "get", "node", "simulated", "-o", ready)
	l.eventually("", "get", "node", "simulated", "-o", "jsonpath={.spec.taints}")
	var got struct {
		Status struct{ Capacity, Allocatable map[string]string }
	}
	if err := json.Unmarshal([]byte(l.run("", "get", "node", "simulated", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if c, a := got.Status.Capacity, got.Status.Allocatable; c["cpu"] != "2k" || c["example.com/gadget"] != "2" || a["cpu"] != "1900" ||
		a["pods"] != "2900" || a["example.com/gadget"] != "1" || len(c) != 4 || len(a) != 4 {
		t.Errorf("capacity %v, allocatable %v", c, a)
	}
	l.eventually("True", "get", "lease", "-n", "kube-node-lease", "simulated", "-o", `go-template={{if .spec.renewTime}}True{{end}}`)
	if got := l.run("", "get", "node", "stranger", "-o", ready); got == "True" {
		t.Error("the simulator took a node that is not marked for it")
	}
}

func checkManyPods(t *testing.T, l *launcher) {
	start := time.Now()
	l.run(deployment, "apply", "-f", "-")
	l.eventually("1000", "get", "deployment", "many", "-o", "jsonpath={.status.replicas}")
	created := time.Since(start)
	l.eventually("1000", "get", "deployment", "many", "-o", "jsonpath={.status.readyReplicas}")
	t.Logf("1000 pods created in %s, ready in %s", created, time.Since(start))
	if created > 30*time.Second {
		t.Errorf("creating 1000 pods took %s; are client rate limits on?", created)
	}
	start = time.Now()
	l.run("", "scale", "deployment", "many", "--replicas=0")
	l.eventually("", "get", "pods", "-l", "app=many", "-o", "name")
	t.Logf("1000 pods gone in %s", time.Since(start))
}

func checkJob(_ *testing.T, l *launcher) {
	l.run(job, "apply", "-f", "-")
	l.eventually("1", "get", "job", "short", "-o", "jsonpath={.status.succeeded}")
	l.run("", "delete", "job", "short", "--wait=true", "--timeout=60s")
	l.eventually("", "get", "pods", "-o", "name")
}

func checkQuickDelete(t *testing.T, l *launcher) {
	l.run(lonePod("quick", "{}", "[]", 300), "apply", "-f", "-")
	l.eventually("Running", "get", "pod", "quick", "-o", "jsonpath={.status.phase}")
	start := time.Now()
	l.run("", "delete", "pod", "quick", "--timeout=100s")
	if took := time.Since(start); took < 800*time.Millisecond || took > time.Minute {
		t.Errorf("the pod took %s to go, want about a second", took)
	}
}

func checkFinalizer(t *testing.T, l *launcher) {
	l.run(lonePod("held", "{}", `["example.com/hold"]`, 30), "apply", "-f", "-")
	l.eventually("Running", "get", "pod", "held", "-o", "jsonpath={.status.phase}")
	l.run("", "delete", "pod", "held", "--wait=false")
	l.eventually("Failed 0", "get", "pod", "held", "-o", "jsonpath={.status.phase} {.metadata.deletionGracePeriodSeconds}")
	if got := l.run("", "get", "pod", "held", "-o", "jsonpath={.metadata.finalizers[0]}"); got != "example.com/hold" {
		t.Errorf("finalizer %q, want example.com/hold", got)
	}
	l.run("", "patch", "pod", "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	l.eventually("", "get", "pods", "-o", "name")
}

func checkStubborn(t *testing.T, l *launcher) {
	l.run(lonePod("stubborn", `{"local.karpenter-anew.dev/ignore-sigterm":"true"}`, "[]", 5), "apply", "-f", "-")
	l.eventually("Running", "get", "pod", "stubborn", "-o", "jsonpath={.status.phase}")
	start := time.Now()
	l.run("", "delete", "pod", "stubborn", "--timeout=100s")
	if took := time.Since(start); took < 3*time.Second {
		t.Errorf("the pod took %s to go, want its grace period of 5 s", took)
	}
}

// checkHooks: preStop hooks and the time after SIGTERM are simulated, and cut off by the grace period, even by a later, shorter one.
func checkHooks(t *testing.T, l *launcher) {
	const sleep, command = `{"sleep":{"seconds":4}}`, `{"exec":{"command":["/bin/sh","-c","sleep 4"]}}`
	for _, c := range []struct {
		name, annotations, hook string
		grace                   int
		// shorter is the grace period of a second delete; 0 for none.
		shorter     int
		least, most time.Duration
	}{
		{"sleeps", "{}", sleep, 300, 0, 4 * time.Second, time.Minute},
		{"runs-a-command", "{}", command, 300, 0, 4 * time.Second, time.Minute},
		{"handles-sigterm", `{"local.karpenter-anew.dev/terminate-after":"4s"}`, "null", 300, 0, 4 * time.Second, time.Minute},
		{"hooks-and-handles", `{"local.karpenter-anew.dev/terminate-after":"3s"}`, sleep, 300, 0, 7 * time.Second, time.Minute},
		{"is-cut-off", "{}", `{"sleep":{"seconds":299}}`, 4, 0, 3 * time.Second, time.Minute},
		{"is-cut-short", "{}", `{"sleep":{"seconds":250}}`, 300, 3, 2 * time.Second, time.Minute},
	} {
		text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"annotations":%s},"spec":{"nodeName":"simulated",
			"terminationGracePeriodSeconds":%d,"containers":[{"name":"other","image":"none"},{"name":"main","image":"none","lifecycle":{"preStop":%s}}]}}`,
			c.name, c.annotations, max(c.grace, 300), c.hook)
		l.run(text, "apply", "-f", "-")
		l.eventually("Running", "get", "pod", c.name, "-o", "jsonpath={.status.phase}")
		start := time.Now()
		l.run("", "delete", "pod", c.name, "--wait=false", fmt.Sprintf("--grace-period=%d", c.grace))
		if c.shorter > 0 {
			l.run("", "delete", "pod", c.name, "--wait=false", fmt.Sprintf("--grace-period=%d", c.shorter))
		}
		l.eventually("", "get", "pods", "-o", "name")
		if took := time.Since(start); took < c.least || took > c.most {
			t.Errorf("pod %s took %s to go, want between %s and %s", c.name, took, c.least, c.most)
		}
	}
}

// checkFailing: a pod that is not restarted fails, by its command or by an annotation; one of a Job is counted as failed.
func checkFailing(_ *testing.T, l *launcher) {
	for name, parts := range map[string][2]string{
		"exits": {"{}", `["sh","-c","exit 3"]`}, "is-told": {`{"local.karpenter-anew.dev/fail-after":"1s"}`, "[]"},
	} {
		l.run(fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"annotations":%s},
			"spec":{"nodeName":"simulated","restartPolicy":"Never","containers":[{"name":"main","image":"none","command":%s}]}}`, name, parts[0], parts[1]), "apply", "-f", "-")
		l.eventually("Failed 1", "get", "pod", name, "-o", "jsonpath={.status.phase} {.status.containerStatuses[0].state.terminated.exitCode}")
		l.run("", "delete", "pod", name, "--timeout=60s")
	}
	l.run(strings.NewReplacer("short", "failing", "image: none", "image: none, args: [exit 1]", "spec:\n  template", "spec:\n  backoffLimit: 0\n  template").Replace(job), "apply", "-f", "-")
	l.eventually("1", "get", "job", "failing", "-o", "jsonpath={.status.failed}")
	l.run("", "delete", "job", "failing", "--wait=true", "--timeout=60s")
	l.eventually("", "get", "pods", "-o", "name")
}

func checkRestart(t *testing.T, l *launcher) {
	before := l.processes()
	text, err := launcherCommand(testCache(t), "restart-apiserver", "--workdir", l.dir, "--down", "3s").CombinedOutput()
	if err != nil {
		t.Fatalf("restart-apiserver: %v\n%s", err, text)
	}
	after := l.processes()
	for name, pid := range before {
		if (name == "kube-apiserver") == (after[name] == pid) {
			t.Errorf("%s: process %d before, %d after", name, pid, after[name])
		}
	}
	l.run("", "get", "node", "simulated")
	// The other components found their server again.
	l.run(lonePod("later", "{}", "[]", 1), "apply", "-f", "-")
	l.eventually("Running", "get", "pod", "later", "-o", "jsonpath={.status.phase}")
}
