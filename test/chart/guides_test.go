package chart

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// endpointAsJSON is what `aws … --output json` prints for an endpoint: with quotes.
const endpointAsJSON = `"https://0123.gr7.us-east-1.eks.amazonaws.com"`

// guides are the lines of testdata/guides.txt as releases.
func guides(t *testing.T) []release {
	t.Helper()
	text, err := os.ReadFile("testdata/guides.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []release
	for block := range strings.SplitSeq(string(text), "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		line := strings.ReplaceAll(strings.TrimSpace(block), "\\\n", " ")
		line = regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(line, "'"+endpointAsJSON+"'")
		r := release{chart: controller}
		words := shellWords(line)
		if words[1] == "…" {
			r = out[len(out)-1]
			r.set = slices.Clone(r.set)
		}
		for i, word := range words {
			switch word {
			case "--set":
				r.set = append(r.set, words[i+1])
			case "--namespace":
				r.namespace = words[i+1]
			case "karpenter":
				if r.name == "" {
					r.name = word
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// shellWords splits a line as a shell does: quotes group and go away, a comment ends the line.
func shellWords(line string) []string {
	var out []string
	var word strings.Builder
	begun := false
	var quote rune
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\n':
			if begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		case c == '#' && !begun:
			return out
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	return out
}

// variables are those of the controller's container that have a literal value.
func variables(objects []runtime.Object, t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, v := range the[*appsv1.Deployment](t, objects, "").Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom == nil {
			out[v.Name] = v.Value
		}
	}
	return out
}

func TestLinesOfGuidesWorkAsTheyAreWritten(t *testing.T) {
	const roleARN = "eks.amazonaws.com/role-arn"
	want := []struct {
		namespace, cluster, endpoint, queue, role, cpu, account string
	}{
		{namespace: "kube-system", cluster: "myCluster", queue: "myCluster", cpu: "1", account: "karpenter"},
		{namespace: "kube-system", cluster: "myCluster", queue: "myCluster", cpu: "1", account: "karpenter", role: "arn:aws:iam::012345678901:role/myCluster-karpenter"},
		{namespace: "karpenter", cluster: "eks-karpenter-demo", endpoint: strings.Trim(endpointAsJSON, `"`), cpu: "0", account: "default"},
		{namespace: "kube-system", cluster: "demo", queue: "demo", cpu: "1", account: "karpenter", role: "arn:aws:iam::012345678901:role/demo-karpenter"},
	}
	lines := guides(t)
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i, r := range lines {
		w := want[i]
		objects := r.objects(t)
		deployment := the[*appsv1.Deployment](t, objects, "karpenter")
		pod := deployment.Spec.Template.Spec
		vars := variables(objects, t)
		for name, pair := range map[string][2]string{
			"namespace":                           {w.namespace, deployment.Namespace},
			"cluster":                             {w.cluster, vars["CLUSTER_NAME"]},
			"endpoint":                            {w.endpoint, vars["CLUSTER_ENDPOINT"]},
			"queue":                               {w.queue, vars["INTERRUPTION_QUEUE"]},
			"CPU":                                 {w.cpu, pod.Containers[0].Resources.Requests.Cpu().String()},
			"account of pods":                     {w.account, pod.ServiceAccountName},
			"role's annotation":                   {w.role, roleOf(objects, roleARN)},
			"label by which guides find the pods": {"controller", deployment.Spec.Template.Labels["karpenter"]},
		} {
			if pair[0] != pair[1] {
				t.Errorf("line %d: %s is %q, want %q", i+1, name, pair[1], pair[0])
			}
		}
	}
}

// roleOf is an annotation of the service account, empty if there is no account.
func roleOf(objects []runtime.Object, annotation string) string {
	for _, o := range objects {
		if account, ok := o.(*corev1.ServiceAccount); ok {
			return account.Annotations[annotation]
		}
	}
	return ""
}
