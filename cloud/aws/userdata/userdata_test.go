package userdata_test

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/userdata"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.golden from what is rendered, for review")

// base is a minimal input: one label, and only the taint that every node starts with.
func base(family awsv1.Family) userdata.Input {
	return userdata.Input{
		Family: family, ClusterName: "c", Endpoint: "https://e", CABundle: "Q0E=", ClusterCIDR: "10.100.0.0/16",
		ClusterDNS: []string{"10.0.100.10"}, MaxPods: new(int64(110)), Labels: map[string]string{"a": "b"}, Taints: userdata.NodeTaints(nil, nil),
	}
}

const allFields = `{clusterDNS: [10.0.0.10], maxPods: 20, podsPerCore: 3, systemReserved: {memory: 1Gi, cpu: 100m}, kubeReserved: {memory: 2Gi, pid: "100"},
  evictionHard: {memory.available: 5%, pid.available: 7%}, evictionSoft: {nodefs.available: 10Gi, memory.available: 6%}, evictionSoftGracePeriod: {nodefs.available: 90s, memory.available: 1m},
  evictionMaxPodGracePeriod: 60, imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 0, cpuCFSQuota: false}`

// withKubelet reads a kubelet block into an input.
func withKubelet(t testing.TB, in userdata.Input, text string) userdata.Input {
	t.Helper()
	var block map[string]apiextensionsv1.JSON
	if err := yaml.Unmarshal([]byte(text), &block); err != nil {
		t.Fatal(err)
	}
	config, err := kubelet.Parse(block)
	if err != nil {
		t.Fatal(err)
	}
	in.KubeletBlock, in.Kubelet = block, config.Static()
	if len(in.Kubelet.ClusterDNS) > 0 {
		in.ClusterDNS = in.Kubelet.ClusterDNS
	}
	if n, ok := in.Kubelet.StaticMaxPods(); ok {
		in.MaxPods = &n
	}
	return in
}

func change(in userdata.Input, f func(*userdata.Input)) userdata.Input { f(&in); return in }

func custom(in userdata.Input, text string) userdata.Input {
	in.Custom = text
	return in
}

const (
	mimeDocument = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"BOUNDARY\"\r\n\r\n" +
		"--BOUNDARY\r\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\r\nX-Kept: yes\r\n\r\n#!/bin/bash\r\necho one\r\n--BOUNDARY\r\n" +
		"Content-Type: application/node.eks.aws\r\n\r\nkind: NodeConfig\r\n\r\n--BOUNDARY--\r\n"
	otherOrder = "Content-Type: multipart/mixed; boundary=\"==X==\"\nMIME-Version: 1.0\n\n--==X==\nContent-Type: text/cloud-config\n\n#cloud-config\n--==X==--\n"
	inBase64   = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\nIyEvYmluL2Jhc2gK\nZWNobyBvbmUK\n--B--\n"
	inQuotes   = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: Quoted-Printable\n\n#!/bin/bash\necho a=3Db, a line that is=\n longer\n--B--\n"
	ownTOML    = `unrelated = 1
[settings.kubernetes]
max-pods = 5
cluster-name = "other"
pod-pids-limit = 1024
no-such-setting = true
another = 1
[settings.kubernetes.node-labels]
a = "mine"
mine = "kept"
[settings.kubernetes.node-taints]
mine = ["x:NoSchedule"]
[settings.kubernetes.memory-manager-reserved-memory.0]
enabled = true
memory = "1Gi"
hugepages-2Mi = "100Mi"
hugepages-1Gi = "2Gi"
[settings.host-containers.admin]
enabled = true
[settings.bootstrap-commands.mine]
commands = [["apiclient", "set", "motd=hello"]]
mode = "once"
essential = false
`
)

// cases are named like their golden files.
func cases(t testing.TB) map[string]userdata.Input {
	al2, al2023, bottlerocket, windows := base(awsv1.FamilyAL2), base(awsv1.FamilyAL2023), base(awsv1.FamilyBottlerocket), base(awsv1.FamilyWindows2022)
	tainted := func(in *userdata.Input) {
		in.Labels = userdata.NodeLabels(map[string]string{"team": "a", "kubernetes.io/arch": "amd64"}, "spot", in.Family)
		in.Taints = userdata.NodeTaints([]corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: "NoSchedule"}, {Key: "dedicated", Value: "x", Effect: "NoExecute"}}, []corev1.Taint{{Key: "wait", Effect: "NoExecute"}})
	}
	bare := func(in *userdata.Input) {
		in.CABundle, in.ClusterDNS, in.MaxPods, in.Labels, in.Taints = "", nil, nil, nil, nil
	}
	raid := func(in *userdata.Input) { in.RAID0 = true }
	old := func(in *userdata.Input) { in.RAID0, in.BottlerocketVersion = true, "v1.45.0" }
	now := func(in *userdata.Input) { in.RAID0, in.BottlerocketVersion = true, "latest" }
	ipv6 := func(in *userdata.Input) { in.ClusterDNS = []string{"fd30:1c53:5f8a::a"} }
	return map[string]userdata.Input{
		"al2": al2, "al2 every field": withKubelet(t, al2, allFields), "al2 ipv6": change(al2, ipv6), "al2 raid0": change(al2, raid),
		"al2 labels and taints": change(al2, tainted), "al2 nothing known": change(al2, bare),
		"al2 mime": custom(al2, mimeDocument), "al2 mime with the type first": custom(al2, otherOrder), "al2 script": custom(al2, "#!/bin/bash\necho one\n"), "al2 empty": custom(al2, " \n"),
		"al2023": al2023, "al2023 raid0": change(al2023, raid), "al2023 every field": withKubelet(t, al2023, allFields),
		"al2023 other fields":      withKubelet(t, al2023, `{clusterDNS: [10.0.0.10, 10.0.0.11], memorySwap: {swapBehavior: LimitedSwap}, cpuManagerPolicy: static, registryPullQPS: 0}`),
		"al2023 labels and taints": change(al2023, tainted), "al2023 nothing known": change(al2023, bare),
		"al2023 expressions": withKubelet(t, al2023, `{maxPods: vcpus * 8, kubeReserved: {cpu: 100m, memory: vcpus * 10}, systemReserved: {cpu: vcpus}}`),
		"al2023 mime":        custom(al2023, mimeDocument), "al2023 mime in base64": custom(al2023, inBase64), "al2023 mime in quotes": custom(al2023, inQuotes), "al2 mime in quotes": custom(al2, inQuotes),
		"al2023 yaml":     custom(al2023, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"),
		"al2023 comments": custom(al2023, "# nothing\n"), "al2023 script": custom(al2023, "#!/bin/bash\necho one\n"), "al2023 empty": custom(al2023, ""),
		"bottlerocket": bottlerocket, "bottlerocket every field": withKubelet(t, bottlerocket, allFields), "bottlerocket custom": custom(bottlerocket, ownTOML),
		"bottlerocket labels and taints": change(bottlerocket, tainted), "bottlerocket nothing known": change(bottlerocket, bare),
		"bottlerocket raid0 before 1.46": change(bottlerocket, old), "bottlerocket raid0": change(bottlerocket, now), "bottlerocket raid0 custom": custom(change(bottlerocket, now), ownTOML),
		"bottlerocket command without mode": custom(bottlerocket, "[settings.bootstrap-commands.mine]\ncommands = [[\"apiclient\", \"set\", \"motd=hello\"]]\n"),
		"windows":                           windows, "windows script": custom(windows, "Write-Host 'one'"), "windows raid0": change(windows, raid), "windows every field": withKubelet(t, windows, allFields),
		"windows nothing known": change(windows, bare),
	}
}

// TestGolden compares the rendered text, byte for byte, with testdata/*.golden.
func TestGolden(t *testing.T) {
	t.Attr("covers", "A311 A312 A313 A315 A317 A318 A320 A321 A324 N315 N322 N323")
	for name, in := range cases(t) {
		t.Run(name, func(t *testing.T) {
			result, err := userdata.Render(in)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
			if *rewrite {
				if err := os.WriteFile(path, []byte(result.Text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(result.Text, "\n")); diff != "" {
				t.Errorf("if the change is meant, run the test with -rewrite and review it (-want +got)\n%s", diff)
			}
		})
	}
}

const (
	al2Script = `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'c' --apiserver-endpoint 'https://e' --b64-cluster-ca 'Q0E=' \
--dns-cluster-ip '10.0.100.10' \
--use-max-pods false \
--kubelet-extra-args '--node-labels="a=b" --register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=110'`
	al2023Config = `# Karpenter Generated NodeConfig
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
metadata: {}
spec:
  cluster:
    apiServerEndpoint: https://e
    certificateAuthority: Q0E=
    cidr: 10.100.0.0/16
    name: c
  containerd: {}
  instance:
    localStorage:
      strategy: RAID0
  kubelet:
    config:
      clusterDNS:
      - 10.0.100.10
      maxPods: 110
      registerWithTaints:
      - effect: NoExecute
        key: karpenter.sh/unregistered
    flags:
    - --node-labels="a=b"
`
	windowsScript = `<powershell>
[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"
& $EKSBootstrapScriptFile -EKSClusterName 'c' -APIServerEndpoint 'https://e' -Base64ClusterCA 'Q0E=' -KubeletExtraArgs '--node-labels="a=b" --register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=110' -DNSClusterIP '10.0.100.10'
</powershell>`
)

// TestKnownTexts compares with texts written independently of this code.
func TestKnownTexts(t *testing.T) {
	t.Attr("covers", "A311 A313 A321 A322")
	archive := func(contentType, content string) string {
		return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: " + contentType + "\n\n" + content + "\n--//--\n"
	}
	for _, test := range []struct {
		name string
		in   userdata.Input
		want string
	}{
		{"AL2", base(awsv1.FamilyAL2), archive(`text/x-shellscript; charset="us-ascii"`, al2Script)},
		{"AL2023", change(base(awsv1.FamilyAL2023), func(in *userdata.Input) { in.RAID0 = true }), archive("application/node.eks.aws", al2023Config)},
		{"Windows 2019", base(awsv1.FamilyWindows2019), windowsScript},
		{"Windows 2025", base(awsv1.FamilyWindows2025), windowsScript},
		{"Custom", custom(base(awsv1.FamilyCustom), "any\r\nthing \x00"), "any\r\nthing \x00"},
		{"Custom, empty", base(awsv1.FamilyCustom), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := userdata.Render(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Text); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Attr("covers", "A317")
	for _, test := range []struct {
		name string
		in   userdata.Input
		want string
	}{
		{"MIME that is not multipart", custom(base(awsv1.FamilyAL2), "Content-Type: text/plain\n\nx"), "parsing custom user data input "},
		{"MIME without end", custom(base(awsv1.FamilyAL2023), "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: a/b\n\nc"), "parsing custom user data input "},
		{"MIME without boundary", custom(base(awsv1.FamilyAL2), "Content-Type: multipart/mixed\n\n"), "parsing custom user data input "},
		{"MIME without type", custom(base(awsv1.FamilyAL2), "MIME-Version: 1.0\n\nx"), "parsing custom user data input "},
		{"a part that ends the archive", custom(base(awsv1.FamilyAL2), "#!/bin/bash\n--//--\n"), "separates parts"},
		{"TOML that is none", custom(base(awsv1.FamilyBottlerocket), "#!/bin/bash\necho one"), "invalid UserData "},
		{"settings that are no table", custom(base(awsv1.FamilyBottlerocket), "settings = 1"), "invalid UserData"},
		{"labels that are no table", custom(base(awsv1.FamilyBottlerocket), "[settings.kubernetes]\nnode-labels = 1"), "invalid UserData"},
		{"commands that are none", custom(base(awsv1.FamilyBottlerocket), "[settings]\nbootstrap-commands = 1"), "invalid UserData"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := userdata.Render(test.in); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
		})
	}
	in := base(awsv1.FamilyAL2023)
	in.ClusterCIDR = ""
	if _, err := userdata.Render(in); !errors.Is(err, userdata.ErrNoClusterCIDR) {
		t.Errorf("without the range of services: %v", err)
	}
}

func TestDropped(t *testing.T) {
	t.Attr("covers", "A317")
	got, err := userdata.Render(custom(base(awsv1.FamilyBottlerocket), ownTOML))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Dropped, []string{"another", "no-such-setting"}) {
		t.Errorf("dropped %v", got.Dropped)
	}
}

func TestNodeLabels(t *testing.T) {
	t.Attr("covers", "A298")
	claim := map[string]string{
		"team": "a", "example.com/x": "y", "kubernetes.io/arch": "amd64", "node-restriction.kubernetes.io/x": "y", "foo.k8s.io/x": "y", "k8s.io/x": "y",
		"karpenter.k8s.aws/instance-cpu": "2", "xk8s.io/x": "y", "kubernetes.io": "y",
	}
	got := userdata.NodeLabels(claim, "spot", awsv1.FamilyAL2023)
	want := []string{"example.com/x", "karpenter.k8s.aws/instance-cpu", "karpenter.sh/capacity-type", "karpenter.sh/do-not-sync-taints", "kubernetes.io", "team", "xk8s.io/x"}
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, want) || got["karpenter.sh/capacity-type"] != "spot" {
		t.Errorf("got %v", got)
	}
	if len(claim) != 9 {
		t.Errorf("the claim's labels changed: %v", claim)
	}
	if _, ok := userdata.NodeLabels(nil, "spot", awsv1.FamilyCustom)["karpenter.sh/do-not-sync-taints"]; ok {
		t.Error("Custom says that taints are there")
	}
}

func TestNodeTaints(t *testing.T) {
	own := corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}
	a, b := corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoSchedule}
	if diff := cmp.Diff([]corev1.Taint{a, b, own}, userdata.NodeTaints([]corev1.Taint{a}, []corev1.Taint{b})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]corev1.Taint{own}, userdata.NodeTaints(nil, []corev1.Taint{own})); diff != "" {
		t.Error(diff)
	}
}

func TestBottlerocketVersion(t *testing.T) {
	t.Attr("covers", "A319")
	const name = "bottlerocket-aws-k8s-1.30-x86_64-v1.19.2-29cc92cc"
	images := []awsv1.AMI{{ID: "ami-0", Name: "other-v9.9.9"}, {ID: "ami-1", Name: name}}
	for _, test := range []struct {
		terms  []awsv1.AMISelectorTerm
		images []awsv1.AMI
		want   string
	}{
		{[]awsv1.AMISelectorTerm{{Alias: "bottlerocket@v1.47.0"}}, images, "v1.47.0"},
		{[]awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}, nil, "latest"},
		{[]awsv1.AMISelectorTerm{{Name: "bottlerocket-aws-k8s-1.30-x86_64-v1.20.0-*"}}, images, "v1.20.0"},
		{[]awsv1.AMISelectorTerm{{ID: "ami-1"}}, images, "v1.19.2"},
		{[]awsv1.AMISelectorTerm{{ID: "ami-0"}}, images[:1], ""},
		{[]awsv1.AMISelectorTerm{{Tags: map[string]string{"a": "b"}}}, images, "v1.19.2"},
		{[]awsv1.AMISelectorTerm{{ID: "ami-9"}}, nil, ""},
		{nil, []awsv1.AMI{{ID: "ami-1", Name: "bottlerocket"}}, ""},
	} {
		class := &awsv1.EC2NodeClass{}
		class.Spec.AMISelectorTerms, class.Status.AMIs = test.terms, test.images
		if got := userdata.BottlerocketVersion(class); got != test.want {
			t.Errorf("%v: %q, want %q", test.terms, got, test.want)
		}
	}
}

func TestDirectories(t *testing.T) {
	t.Attr("covers", "A318")
	for version, byDefault := range map[string]bool{
		"1.46.0": true, "v1.46.0": true, "1.47.0": true, "2.0.0": true, "latest": true, "1.45.0": false, "1.9.0": false, "1.46": false, "1": false, "": false, "invalid": false, "a.b.c": false,
	} {
		in := base(awsv1.FamilyBottlerocket)
		in.RAID0, in.BottlerocketVersion = true, version
		got, err := userdata.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.Text, "--dirs") == byDefault {
			t.Errorf("version %q:\n%s", version, got.Text)
		}
	}
}
