package firstboot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// kindOfGolden is the image kind that reads a golden file of user data, by the file's name.
func kindOfGolden(name string) Kind {
	family, _, _ := strings.Cut(strings.TrimSuffix(name, ".golden"), "-")
	return map[string]Kind{"al2": Script, "al2023": NodeConfig, "bottlerocket": Bottlerocket, "windows": Windows}[family]
}

// TestWhatIsWrittenIsRead: instances of every image family join with the user data written for them, whatever the user adds.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Attr("covers", "A379")
	files, err := filepath.Glob("../../userdata/testdata/*.golden")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	refused := map[string]string{
		"al2023-nothing-known.golden": "authority", "bottlerocket-nothing-known.golden": "cluster-certificate",
		"al2023-mime.golden": "a document is a NodeConfig of ", // the user wrote no version
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Read(kindOfGolden(name), string(text))
			if because, ok := refused[name]; ok {
				if err == nil || !strings.Contains(err.Error(), because) {
					t.Errorf("error %v, want one about %q", err, because)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if s.Cluster != "c" || s.Endpoint != "https://e" {
				t.Errorf("it joins %q at %q", s.Cluster, s.Endpoint)
			}
		})
	}
}

func TestEveryFieldIsRead(t *testing.T) {
	want := Settings{
		Cluster: "c", Endpoint: "https://e", Authority: "Q0E=", DNS: "10.0.0.10", MaxPods: 20, PodsPerCore: 3,
		SystemReserved: map[string]string{"cpu": "100m", "memory": "1Gi"}, KubeReserved: map[string]string{"memory": "2Gi", "pid": "100"},
		EvictionHard: map[string]string{"memory.available": "5%", "pid.available": "7%"}, Labels: map[string]string{"a": "b"},
		Taints: []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
	}
	for _, family := range []string{"al2", "al2023", "windows", "bottlerocket"} {
		t.Run(family, func(t *testing.T) {
			text, err := os.ReadFile("../../userdata/testdata/" + family + "-every-field.golden")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Read(kindOfGolden(family), string(text))
			if err != nil {
				t.Fatal(err)
			}
			want := want
			if family == "bottlerocket" {
				want.PodsPerCore = 0 // it has no such setting
			}
			got.ServiceCIDR = ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUserDataThatDoesNotJoin(t *testing.T) {
	call := "/etc/eks/bootstrap.sh 'c' --kubelet-extra-args "
	for _, c := range []struct {
		name, text, because string
		kind                Kind
	}{
		{"nothing", "", "nothing in the user data", Script},
		{"a script that does something else", "#!/bin/bash\necho hello", "nothing in the user data", Script},
		{"a script without interpreter", call + "''", "nothing in the user data", Script},
		{"a quotation that does not end", "#!/bin/bash\n" + call + "'--max-pods=3", "does not end", Script},
		{"a flag that does not exist", "#!/bin/bash\n" + call + "'--no-such=3'", "--no-such", Script},
		{"an argument that does not exist", "#!/bin/bash\n/etc/eks/bootstrap.sh c --frobnicate 3", "--frobnicate", Script},
		{"a label that kubelets may not set", "#!/bin/bash\n" + call + `'--node-labels="node-restriction.kubernetes.io/a=b"'`, "labels", Script},
		{"a taint that has no effect", "#!/bin/bash\n" + call + `'--register-with-taints="a=b"'`, "no taint", Script},
		{"two calls", "#!/bin/bash\n" + call + "''\n" + call + "''", "twice", Script},
		{"max pods twice", "#!/bin/bash\n" + call + "'--max-pods=3'", "twice", Script},
		{"the wrong family of addresses", "#!/bin/bash\n/etc/eks/bootstrap.sh c --dns-cluster-ip fd00::a", "family", Script},
		{"a document of another kind", "kind: Pod\napiVersion: v1", "a Pod", NodeConfig},
		{"a document that is no YAML", "{", "decoding", NodeConfig},
		{"a document with a field too much", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluter: {}}", "cluter", NodeConfig},
		{"a document without authority", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: c, apiServerEndpoint: e, cidr: r}}", "authority", NodeConfig},
		{"an archive that is none", "MIME-Version: 1.0\nContent-Type: text/plain\n\nhello", "text/plain", NodeConfig},
		{"no TOML", "settings = [", "parsing", Bottlerocket},
		{"settings that do not exist", "[settings.kubernetes]\nmax-podz = 3", "max-podz", Bottlerocket},
		{"a number as text", "[settings.kubernetes]\nmax-pods = '3'", "parsing", Bottlerocket},
		{"a command with an empty mode", "[settings.kubernetes]\napi-server = 'e'\ncluster-certificate = 'c'\n[settings.bootstrap-commands.x]\ncommands = []\nmode = ''", "the mode", Bottlerocket},
		{"no tags", "& $EKSBootstrapScriptFile -EKSClusterName 'c'", "nothing in the user data", Windows},
		{"two pairs of tags", "<powershell>\necho\n</powershell>\n<powershell>\n</powershell>", "more than one", Windows},
		{"a variable that is not set", "<powershell>\n& $EKSBootstrapScriptFile -EKSClusterName 'c'\n</powershell>", "not set", Windows},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Read(c.kind, c.text)
			if err == nil || !strings.Contains(err.Error(), c.because) {
				t.Errorf("settings %+v, error %v, want one about %q", s, err, c.because)
			}
		})
	}
}

func TestScriptsOfUsersAreRun(t *testing.T) {
	for name, want := range map[string]int{"al2-script": 1, "al2023-script": 1, "windows-script": 1, "bottlerocket-custom": 1, "al2023-yaml": 0} {
		text, err := os.ReadFile("../../userdata/testdata/" + name + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(kindOfGolden(name), string(text))
		if err != nil || len(s.Ran) < want {
			t.Errorf("%s: ran %q, %v\n%s", name, s.Ran, err, text)
		}
	}
}

func TestImagesAreIdentifiedByName(t *testing.T) {
	for name, want := range map[string]Kind{
		"amazon-eks-node-al2023-x86_64-standard-1.34-v20260101": NodeConfig, "amazon-eks-node-1.32-v20260101": Script,
		"bottlerocket-aws-k8s-1.34-x86_64-v1.50.0-abcdef": Bottlerocket, "Windows_Server-2022-English-Core-EKS_Optimized-1.34": Windows, "golden": Script,
	} {
		if got := KindOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
