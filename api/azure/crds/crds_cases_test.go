package crds_test

import (
	"fmt"
	"strings"
)

// azureCase puts fragments at a path of a valid AKSNodeClass, as the groups of api/crds/testdata/vectors.yaml do.
type azureCase struct {
	name string
	// at is the path. also is the whole spec in YAML, when the usual one does not do.
	at, also string
	// accept and reject hold one fragment of YAML a line. Rejections have to mention because.
	accept, reject string
	because        string
}

// subnetID is the id of a subnet in a resource group.
func subnetID(group string) string {
	return `"/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/` + group + `/providers/Microsoft.Network/virtualNetworks/v/subnets/s"`
}

// lines joins fragments.
func lines(fragments ...string) string { return strings.Join(fragments, "\n") }

// classCases are the rules for all fields but kubelet, localDNS and linuxOSConfig.
func classCases() []azureCase {
	cases := []azureCase{
		{
			name: "the subnet", at: "spec.vnetSubnetID", because: "spec.vnetSubnetID",
			accept: lines(subnetID("rg"), subnetID("R_g-(1).2"), subnetID(strings.Repeat("a", 90)), strings.ToLower(subnetID("RG")), strings.ToUpper(subnetID("rg"))),
			reject: lines(
				subnetID("rg."), subnetID("r/g"), subnetID("r g"), subnetID("r$g"), subnetID(""), subnetID(strings.Repeat("a", 91)), `""`, `subnet-1`,
				strings.Replace(subnetID("rg"), "Microsoft.Network", "Microsoft.Compute", 1), strings.Replace(subnetID("rg"), "Microsoft.Network", "MicrosoftXNetwork", 1),
				strings.Replace(subnetID("rg"), "/subnets/s", "", 1), strings.Replace(subnetID("rg"), "/subnets/s", "/subnets/s/x", 1),
				strings.Replace(subnetID("rg"), "/subscriptions", "x/subscriptions", 1),
			),
		},
		{name: "the disk", at: "spec.osDiskSizeGB", accept: "30\n128\n2048", reject: "29\n2049\n-1", because: "spec.osDiskSizeGB"},
		{
			name: "image families", at: "spec.imageFamily", because: "spec.imageFamily",
			accept: "Ubuntu\nUbuntu2204\nUbuntu2404\nAzureLinux", reject: "\"\"\nubuntu\nUbuntu2004\nAzureLinux3\nWindows",
		},
		{name: "FIPS", at: "spec.fipsMode", accept: "FIPS\nDisabled", reject: "\"\"\nfips\nEnabled", because: "spec.fipsMode"},
		{name: "pods", at: "spec.maxPods", accept: "10\n110\n250", reject: "9\n251\n0", because: "spec.maxPods"},
		{
			name: "tags", at: "spec.tags",
			accept: lines(`{}`, `{a/b: c, "": "", "x y": "<&>"}`, `{`+strings.Repeat("k", 512)+`: `+strings.Repeat("v", 256)+`}`, `{`+strings.Repeat("ä", 512)+`: `+strings.Repeat("ü", 256)+`}`),
		},
		{
			name: "characters of keys of tags", at: "spec.tags", because: `tag keys must not contain '<', '>', '%', '&', '?' or a backslash`,
			reject: lines(`{"a<": b}`, `{">": b}`, `{"a%b": c}`, `{"&a": b}`, `{"a?": b}`, `{'a\b': c}`, `{good: x, 'bad\': c}`),
		},
		{name: "length of keys of tags", at: "spec.tags", reject: `{` + strings.Repeat("k", 513) + `: v}`, because: "tag keys must have at most 512 characters"},
		{name: "length of values of tags", at: "spec.tags", reject: `{k: ` + strings.Repeat("v", 257) + `}`, because: "tag values must have at most 256 characters"},
		{name: "drivers of GPUs", at: "spec.gpu", accept: "{}\n{mode: Driver}\n{mode: None}", reject: "{mode: none}\n{mode: \"\"}", because: "spec.gpu.mode"},
		{name: "artifact streaming", at: "spec.artifactStreaming", accept: "{}\n{enabled: true}\n{enabled: false}", reject: `{enabled: "true"}`, because: "spec.artifactStreaming"},
		{
			name: "security", at: "spec.security", because: "spec.security",
			accept: "{}\n{encryptionAtHost: true, trustedLaunch: {}}\n{trustedLaunch: {vtpm: true, secureBoot: false}}", reject: "{encryptionAtHost: yes please}\n{trustedLaunch: {vtpm: 1}}",
		},
	}
	return append(cases, fipsCases()...)
}

// fipsCases are the cells of the table of image families, FIPS and Trusted Launch, and what is refused why.
func fipsCases() []azureCase {
	const (
		release = "fipsMode 'FIPS' is not supported with imageFamily 'Ubuntu2404'"
		launch  = "fipsMode 'FIPS' with imageFamily 'Ubuntu2204' requires security.trustedLaunch.vtpm or security.trustedLaunch.secureBoot"
		family  = "fipsMode 'FIPS' with security.trustedLaunch requires imageFamily 'Ubuntu' or 'Ubuntu2204'"
	)
	var cases []azureCase
	for _, row := range []struct {
		family string
		// fips and both are why FIPS is refused without and with Trusted Launch.
		fips, both string
	}{{"", "", ""}, {"Ubuntu", "", ""}, {"Ubuntu2204", launch, ""}, {"Ubuntu2404", release, release}, {"AzureLinux", "", family}} {
		spec := func(fields ...string) string {
			if row.family != "" {
				fields = append(fields, "imageFamily: "+row.family)
			}
			return "{" + strings.Join(fields, ", ") + "}"
		}
		trusted := []string{"security: {trustedLaunch: {vtpm: true}}", "security: {trustedLaunch: {secureBoot: true, vtpm: false}}"}
		untrusted := []string{"security: {}", "security: {trustedLaunch: {}}", "security: {trustedLaunch: {vtpm: false, secureBoot: false}}"}
		accept := []string{spec(), spec("fipsMode: Disabled"), spec("fipsMode: Disabled", trusted[0]), spec(trusted[0]), spec(trusted[1])}
		refused := map[string][]string{}
		put := func(why, text string) {
			if why == "" {
				accept = append(accept, text)
			} else {
				refused[why] = append(refused[why], text)
			}
		}
		put(row.fips, spec("fipsMode: FIPS"))
		for _, security := range untrusted {
			put(row.fips, spec("fipsMode: FIPS", security))
		}
		for _, security := range trusted {
			put(row.both, spec("fipsMode: FIPS", security))
		}
		cases = append(cases, azureCase{name: "FIPS and Trusted Launch with the family " + row.family, at: "spec", accept: lines(accept...)})
		for why, texts := range refused {
			cases = append(cases, azureCase{name: "FIPS or Trusted Launch that the family " + row.family + " lacks", at: "spec", reject: lines(texts...), because: why})
		}
	}
	return cases
}

// kubeletCases are the rules of the block kubelet.
func kubeletCases() []azureCase {
	return []azureCase{
		{name: "CPU manager", at: "spec.kubelet.cpuManagerPolicy", accept: "none\nstatic", reject: "dynamic\n\"\"", because: "spec.kubelet.cpuManagerPolicy"},
		{name: "CPU quota", at: "spec.kubelet.cpuCFSQuota", accept: "true\nfalse", reject: "\"true\"", because: "spec.kubelet.cpuCFSQuota"},
		{
			name: "period of the CPU quota", at: "spec.kubelet.cpuCFSQuotaPeriod", because: "spec.kubelet.cpuCFSQuotaPeriod",
			accept: "100ms\n1s\n1.5ms\n.5s\n1m30s\n50us\n50µs\n\"0\"\n0s", reject: "\"\"\nsoon\n\"100\"\n100 ms\n-1s\n1d\n9999999h\n999999h999999h999999h\n100",
		},
		{
			name: "thresholds of images", at: "spec.kubelet", because: "imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent",
			accept: "{imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80}\n{imageGCHighThresholdPercent: 0}\n{imageGCLowThresholdPercent: 100}\n{imageGCHighThresholdPercent: 100, imageGCLowThresholdPercent: 0}",
			reject: "{imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80}\n{imageGCHighThresholdPercent: 10, imageGCLowThresholdPercent: 60}",
		},
		{name: "bounds of the high threshold", at: "spec.kubelet.imageGCHighThresholdPercent", reject: "-1\n101", because: "spec.kubelet.imageGCHighThresholdPercent"},
		{name: "bounds of the low threshold", at: "spec.kubelet.imageGCLowThresholdPercent", reject: "-1\n101", because: "spec.kubelet.imageGCLowThresholdPercent"},
		{
			name: "topology manager", at: "spec.kubelet.topologyManagerPolicy", because: "spec.kubelet.topologyManagerPolicy",
			accept: "restricted\nbest-effort\nnone\nsingle-numa-node", reject: "best\n\"\"",
		},
		{name: "unsafe sysctls", at: "spec.kubelet.allowedUnsafeSysctls", accept: "[]\n[net.core.somaxconn, \"kernel.msg*\"]", reject: "net.core.somaxconn\n[1]", because: "spec.kubelet.allowedUnsafeSysctls"},
		{
			name: "size of logs", at: "spec.kubelet.containerLogMaxSize", because: "spec.kubelet.containerLogMaxSize",
			accept: "10Mi\n1E\n1P\n1T\n1G\n1M\n1K\n1Ei\n1Pi\n1Ti\n1Gi\n1Ki", reject: "\"10\"\n10\n10m\n10MB\n1.5Mi\nMi\n\"\"\n-1Mi",
		},
		{name: "number of logs", at: "spec.kubelet.containerLogMaxFiles", accept: "2\n100", reject: "1\n0\n-5", because: "spec.kubelet.containerLogMaxFiles"},
		{name: "processes", at: "spec.kubelet.podPidsLimit", accept: "-1\n9000000000", reject: "\"1\"", because: "spec.kubelet.podPidsLimit"},
	}
}

// rootZone, clusterZone and otherZone are overrides that both lists take.
const (
	rootZone    = `{zone: ".", ` + zoneFields + `}`
	clusterZone = `{zone: cluster.local, ` + clusterFields + `}`
	zoneFields  = `queryLogging: Error, protocol: PreferUDP, forwardDestination: VnetDNS, forwardPolicy: Sequential, maxConcurrent: 0, cacheDuration: 1h, serveStaleDuration: 1h30m, serveStale: Immediate`
	// clusterFields forward to the DNS of the cluster.
	clusterFields = `queryLogging: Log, protocol: ForceTCP, forwardDestination: ClusterCoreDNS, forwardPolicy: Random, maxConcurrent: 1000, cacheDuration: 30s, serveStaleDuration: 1m, serveStale: Disable`
)

// dnsCases are the rules of the block localDNS.
func dnsCases() []azureCase {
	both := func(list string) string {
		return `{mode: Required, vnetDNSOverrides: ` + list + `, kubeDNSOverrides: ` + list + `}`
	}
	list := func(zones ...string) string {
		return "[" + strings.Join(append([]string{rootZone, clusterZone}, zones...), ", ") + "]"
	}
	change := func(zone, from, to string) string {
		if !strings.Contains(zone, from) {
			panic("no " + from)
		}
		return strings.Replace(zone, from, to, 1)
	}
	other := func(zone string) string { return fmt.Sprintf(`{zone: %q, %s}`, zone, zoneFields) }
	cases := []azureCase{
		{
			name: "modes of LocalDNS", at: "spec.localDNS", because: "spec.localDNS.mode",
			accept: lines(both(list()), change(both(list()), "Required", "Preferred"), change(both(list()), "Required", "Disabled")),
			reject: lines(change(both(list()), "Required", `""`), change(both(list()), "Required", "required"), change(both(list()), "mode: Required, ", "")),
		},
		{
			name: "the list of the virtual network is required", at: "spec.localDNS", because: "spec.localDNS.vnetDNSOverrides",
			reject: lines(`{mode: Required, kubeDNSOverrides: `+list()+`}`, `{mode: Disabled, vnetDNSOverrides: `+list(other("."))+`, kubeDNSOverrides: `+list()+`}`),
		},
		{name: "the list of the cluster is required", at: "spec.localDNS", because: "spec.localDNS.kubeDNSOverrides", reject: `{mode: Required, vnetDNSOverrides: ` + list() + `}`},
		{
			name: "zones that the list of the virtual network needs", at: "spec.localDNS.vnetDNSOverrides", also: "{localDNS: " + both(list()) + "}",
			because: "vnetDNSOverrides must contain the zones '.' and 'cluster.local'",
			accept:  list(other("example.com")), reject: lines("[]", "["+rootZone+"]", "["+clusterZone+"]", "["+rootZone+", "+other("cluster.local.")+"]"),
		},
		{
			name: "zones that the list of the cluster needs", at: "spec.localDNS.kubeDNSOverrides", also: "{localDNS: " + both(list()) + "}",
			because: "kubeDNSOverrides must contain the zones '.' and 'cluster.local'",
			accept:  list(other("example.com")), reject: lines("[]", "["+rootZone+"]", "["+clusterZone+"]"),
		},
		{
			name: "the root zone in the virtual network", at: "spec.localDNS.vnetDNSOverrides", also: "{localDNS: " + both(list()) + "}",
			because: "the zone '.' of vnetDNSOverrides must not be forwarded to ClusterCoreDNS", reject: change(list(), "VnetDNS", "ClusterCoreDNS"),
		},
		{
			name: "other zones in the virtual network", at: "spec.localDNS.vnetDNSOverrides", also: "{localDNS: " + both(list()) + "}",
			because: "zones of vnetDNSOverrides outside 'cluster.local' must not be forwarded to ClusterCoreDNS",
			accept:  lines(list(`{zone: sub.cluster.local, `+clusterFields+`}`), list(`{zone: xcluster.local, `+clusterFields+`}`)),
			reject:  lines(list(`{zone: example.com, `+clusterFields+`}`), list(`{zone: cluster.local., `+clusterFields+`}`)),
		},
		{
			name: "the same zones in the cluster", at: "spec.localDNS.kubeDNSOverrides", also: "{localDNS: " + both(list()) + "}",
			accept: lines(change(list(), "VnetDNS", "ClusterCoreDNS"), list(`{zone: example.com, `+clusterFields+`}`)),
		},
	}
	for _, at := range []string{"spec.localDNS.vnetDNSOverrides", "spec.localDNS.kubeDNSOverrides"} {
		with := func(name, because, accept, reject string) {
			cases = append(cases, azureCase{name: name + " at " + at, at: at, also: "{localDNS: " + both(list()) + "}", accept: accept, reject: reject, because: because})
		}
		with("zones of the cluster stay there", "zones that end with 'cluster.local' must not be forwarded to VnetDNS", list(other("cluster.local.")),
			lines(change(list(), "ClusterCoreDNS", "VnetDNS"), list(other("sub.cluster.local")), list(other("xcluster.local"))))
		with("stale answers that are verified", "serveStale 'Verify' must not be combined with protocol 'ForceTCP'",
			lines(change(list(), "Immediate", "Verify"), change(list(), "PreferUDP", "ForceTCP"), list()), change(list(), "Disable}", "Verify}"))
		label := strings.Repeat("a", 63)
		long := strings.Repeat("a.", 126) + "aa" // 254 characters
		with("names of zones", "].zone: ",
			lines(list(other("a.b-c.example")), list(other("example.com.")), list(other("a_b.example")), list(other("x")), list(other(label+".com")), list(other(long))),
			lines(list(other("_sip._tcp.example")), list(other("-a.com")), list(other("a-.com")), list(other("a..b")), list(other("")), list(other(".a")), list(other("..")),
				list(other("a"+label+".com")), list(other(long+"a")), list(other("a b"))))
		with("a zone occurs once", "Duplicate value", "", list(other("example.com")+", "+other("example.com")))
		with("values of zones", "Unsupported value", lines(list(change(other("x"), "Sequential", "RoundRobin"))), lines(
			change(list(), "Error", `""`), change(list(), "Error", "All"), change(list(), "PreferUDP", `""`), change(list(), "PreferUDP", "UDP"), change(list(), "VnetDNS", `""`),
			change(list(), "VnetDNS", "Elsewhere"), change(list(), "Sequential", `""`), change(list(), "Sequential", "sequential"), change(list(), "Immediate", `""`),
			change(list(), "Immediate", "Never")))
		with("queries at a time", "maxConcurrent", "", change(list(), "maxConcurrent: 0", "maxConcurrent: -1"))
		with("durations of zones", "Duration", lines(change(list(), "1h30m", "2h3m4s"), change(list(), "1h,", "0s,")), lines(
			change(list(), "1h30m", `""`), change(list(), "1h30m", "Never"), change(list(), "1h30m", "1.5h"), change(list(), "1h30m", "100ms"), change(list(), "1h30m", "-1h"),
			change(list(), "1h,", "soon,"), change(list(), "1h,", `"1",`), change(list(), "1h,", "1 h,")))
		var without []string
		for field := range strings.SplitSeq(zoneFields, ", ") {
			without = append(without, strings.Replace(strings.Replace(list(), field, "", 1), ", , ", ", ", 1))
		}
		with("fields of zones are required", "Required value", "", lines(append(without, change(list(), `zone: ".", `, ""))...))
	}
	return cases
}

// osCases are the rules of the block linuxOSConfig.
func osCases() []azureCase {
	cases := []azureCase{
		{
			name: "swap", at: "spec", because: "linuxOSConfig.swapFileSize requires kubelet.failSwapOn to be false",
			accept: "{linuxOSConfig: {swapFileSize: 1Gi}, kubelet: {failSwapOn: false}}\n{linuxOSConfig: {}, kubelet: {failSwapOn: true}}\n{kubelet: {failSwapOn: false}}",
			reject: "{linuxOSConfig: {swapFileSize: 1Gi}}\n{linuxOSConfig: {swapFileSize: 1Gi}, kubelet: {}}\n{linuxOSConfig: {swapFileSize: 1Gi}, kubelet: {failSwapOn: true}}",
		},
		{
			name: "size of the swap file", at: "spec.linuxOSConfig.swapFileSize", also: "{kubelet: {failSwapOn: false}}", because: "spec.linuxOSConfig.swapFileSize",
			accept: "1500M\n1Gi", reject: "\"1500\"\n1500MB\n\"\"\n1.5Gi",
		},
		{
			name: "huge pages", at: "spec.linuxOSConfig.transparentHugePageEnabled", because: "spec.linuxOSConfig.transparentHugePageEnabled",
			accept: "always\nmadvise\nnever", reject: "\"\"\ndefer\nAlways",
		},
		{
			name: "compaction", at: "spec.linuxOSConfig.transparentHugePageDefrag", because: "spec.linuxOSConfig.transparentHugePageDefrag",
			accept: "always\ndefer\ndefer+madvise\nmadvise\nnever", reject: "\"\"\nmadvise+defer",
		},
		{
			name: "ports", at: "spec.linuxOSConfig.sysctls.netIPv4IPLocalPortRange", because: "netIPv4IPLocalPortRange",
			accept: "1024 32768\n60999 65535\n32768 60999\n40000 40000\n01024 65535", reject: "\"32768\"\n32768\n1023 65535\n61000 65535\n1024 32767\n1024 65536\n50000 40000\n1024-65535\n1024  65535\n1024 65535 1\n\"\"\n\" 1024 65535\"\na b",
		},
		{name: "reuse of ports", at: "spec.linuxOSConfig.sysctls.netIPv4TCPTwReuse", accept: "true\nfalse", reject: "1", because: "netIPv4TCPTwReuse"},
	}
	for _, pair := range [][2]string{
		{"netCoreRmemDefault", "netCoreRmemMax"},
		{"netCoreWmemDefault", "netCoreWmemMax"},
		{"netIPv4NeighDefaultGcThresh1", "netIPv4NeighDefaultGcThresh2"},
		{"netIPv4NeighDefaultGcThresh2", "netIPv4NeighDefaultGcThresh3"},
		{"netIPv4NeighDefaultGcThresh1", "netIPv4NeighDefaultGcThresh3"},
	} {
		values := func(low, high int) string { return fmt.Sprintf("{%s: %d, %s: %d}", pair[0], low, pair[1], high) }
		low, high := 1024, 80000
		if strings.HasPrefix(pair[0], "netCore") {
			low, high = 212992, 134217728
		}
		cases = append(cases, azureCase{
			name: pair[0] + " and " + pair[1], at: "spec.linuxOSConfig.sysctls", because: pair[0] + " must not be greater than " + pair[1],
			accept: lines(values(low, high), values(low, low), values(high, high), fmt.Sprintf("{%s: %d}", pair[0], high), fmt.Sprintf("{%s: %d}", pair[1], low)),
			reject: lines(values(high, low), values(low+1, low)),
		})
	}
	for name, bounds := range sysctlBounds {
		cases = append(cases, azureCase{
			name: "bounds of " + name, at: "spec.linuxOSConfig.sysctls." + name, because: "spec.linuxOSConfig.sysctls." + name,
			accept: fmt.Sprintf("%d\n%d", bounds[0], bounds[1]), reject: fmt.Sprintf("%d\n%d\n\"%d\"", bounds[0]-1, bounds[1]+1, bounds[0]),
		})
	}
	return cases
}

// sysctlBounds are the smallest and the largest value of each sysctl that is a number.
var sysctlBounds = map[string][2]int{
	"fsAioMaxNr": {65536, 6553500}, "fsFileMax": {8192, 12000500}, "fsInotifyMaxUserWatches": {781250, 2097152}, "fsNrOpen": {8192, 20000500},
	"kernelThreadsMax": {20, 513785}, "netCoreNetdevMaxBacklog": {1000, 3240000}, "netCoreOptmemMax": {20480, 4194304},
	"netCoreRmemDefault": {212992, 134217728}, "netCoreRmemMax": {212992, 134217728}, "netCoreWmemDefault": {212992, 134217728}, "netCoreWmemMax": {212992, 134217728},
	"netCoreSomaxconn": {4096, 3240000}, "netIPv4NeighDefaultGcThresh1": {128, 80000}, "netIPv4NeighDefaultGcThresh2": {512, 90000},
	"netIPv4NeighDefaultGcThresh3": {1024, 100000}, "netIPv4TCPFinTimeout": {5, 120}, "netIPv4TCPKeepaliveProbes": {1, 15}, "netIPv4TCPKeepaliveTime": {30, 432000},
	"netIPv4TCPKeepaliveIntvl": {10, 90}, "netIPv4TCPMaxSynBacklog": {128, 3240000}, "netIPv4TCPMaxTwBuckets": {8000, 1440000},
	"netNetfilterNfConntrackBuckets": {65536, 524288}, "netNetfilterNfConntrackMax": {131072, 2097152}, "vmMaxMapCount": {65530, 262144},
	"vmSwappiness": {0, 100}, "vmVfsCachePressure": {0, 100},
}
