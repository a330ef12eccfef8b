package generate

// texts are values of string fields: names, labels, durations, schedules and identifiers that are valid somewhere, and some that are
// invalid everywhere.
func texts() []string {
	return []string{
		"a", "", "test", "default", "team", "example.com/team", "kubernetes.io/arch", "kubernetes.io/os", "topology.kubernetes.io/zone", "topology.k8s.aws/zone-id",
		"node.kubernetes.io/instance-type", "karpenter.sh/capacity-type", "karpenter.sh/nodepool", "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-family",
		"karpenter.k8s.aws/instance-tenancy", "karpenter.k8s.aws/instance-gpu-count", "karpenter.kwok.sh/instance-cpu", "karpenter.kwok.sh/instance-family",
		"failure-domain.beta.kubernetes.io/zone", "beta.kubernetes.io/instance-type", "spot", "on-demand", "reserved", "amd64", "arm64", "linux", "windows",
		"us-east-1a", "us-east-1b", "test-zone-a", "m5.large", "m6g.large", "c-4x-amd64-linux", "dedicated", "default", "0", "1", "2", "16", "50",
		"9223372036854775807", "99999999999999999999", "-1", "30s", "1m", "1h30m", "720h", "0s", "Never", "2562048h", "10%", "100%", "0%", "5",
		"@daily", "* * * * *", "0 9 * * mon-fri", "61 * * * *", "a b c d e", "*", "al2023@latest", "al2@latest", "bottlerocket@latest", "bottlerocket@v1.20.0",
		"windows2022@latest", "al2023@v20240807", "ami-0abc", "subnet-a1", "subnet-d1", "sg-1", "cr-1", "pg-1", "123456789012", "self", "amazon", "/aws/service/x",
		"20Gi", "100Gi", "1Ti", "64000G", "/dev/xvda", "/dev/sdb", "karpenter.sh/discovery", "Name", "kubernetes.io/cluster/test", "cpu", "memory", "nodes", "nvidia.com/gpu",
		"+10%", "-0.5", "+1.25", "-100%", "1.5", "KarpenterNodeRole-test", "the-profile", "#!/bin/bash\necho one\n", "kind: NodeConfig\n", "[settings]\nmotd = \"x\"\n",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/x-shellscript\n\nx\n--b--\n",
	}
}

// quantities are values of quantity fields.
func quantities() []string {
	return []string{"1", "100m", "1Gi", "0", "-1", "1e3", "16", "250Mi", "9223372036854775807", "1E", "0.0000001", "8Ei", "10Ti", "x", "1000e99", "1e1.5", "1e999999999"}
}

// blocks are values of fields without a schema, in JSON.
func blocks() []string {
	return []string{
		`{}`, `{"maxPods": 20}`, `{"maxPods": "vcpus * 8"}`, `{"maxPods": -1}`, `{"podsPerCore": 2, "clusterDNS": ["10.0.0.10"]}`, `{"podsPerCore": 2147483647}`,
		`{"kubeReserved": {"cpu": "100m", "memory": "1Gi"}, "systemReserved": {"pid": "100"}}`, `{"kubeReserved": {"cpu": "vcpus * 10", "memory": "8Ei"}}`,
		`{"evictionHard": {"memory.available": "5%", "nodefs.available": "10Gi"}}`, `{"evictionHard": {"memory.available": "100%"}}`,
		`{"evictionSoft": {"memory.available": "6%"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}`, `{"evictionMaxPodGracePeriod": 60, "cpuCFSQuota": false}`,
		`{"imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 60}`, `{"imageGCHighThresholdPercent": 10, "imageGCLowThresholdPercent": 60}`,
		`{"memorySwap": {"swapBehavior": "LimitedSwap"}}`, `{"registerWithTaints": []}`, `{"noSuchField": 1}`, `{"maxPods": {}}`, `{"clusterDNS": ["fd00::a", "x"]}`, `{"maxPods": null}`,
	}
}
