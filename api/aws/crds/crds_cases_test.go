package crds_test

// awsCase puts fragments at a path of a valid EC2NodeClass, as the groups of api/crds/testdata/vectors.yaml do.
type awsCase struct {
	name string
	// at is the path; from is what is there first, for changes. also is the whole spec in YAML, when the usual one does not do.
	at, from, also string
	// accept and reject hold one fragment of YAML a line. Rejections have to mention because.
	accept, reject string
	because        string
}

const withoutSpec = `{subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}], amiSelectorTerms: [{alias: al2023@latest}]`

// awsCases are the rules of EC2NodeClass.
func awsCases() []awsCase {
	return []awsCase{
		{name: "a role alone", at: "spec", accept: withoutSpec + `, role: r}`},
		{name: "an instance profile alone", at: "spec", accept: withoutSpec + `, instanceProfile: p}`},
		{
			name: "both or neither", at: "spec", because: "must specify exactly one of ['role', 'instanceProfile']",
			reject: withoutSpec + `, role: r, instanceProfile: p}` + "\n" + withoutSpec + `}`,
		},
		{name: "an empty role", at: "spec.role", reject: `""`, because: "role cannot be empty"},
		{name: "an empty instance profile", at: "spec", reject: withoutSpec + `, instanceProfile: ""}`, because: "instanceProfile cannot be empty"},
		{name: "the role may change", at: "spec.role", from: "before", accept: "after"},
		{
			name: "from role to profile", at: "spec", from: withoutSpec + `, role: r}`,
			accept: withoutSpec + `, instanceProfile: p}`,
		},
		{
			name: "from profile to role", at: "spec", from: withoutSpec + `, instanceProfile: p}`,
			accept: withoutSpec + `, role: r}`,
		},
		{name: "user data may be empty", at: "spec.userData", accept: `""`},
		{
			name: "families", at: "spec.amiFamily", because: "spec.amiFamily", reject: "Ubuntu\n\"\"\nal2023",
			also:   `{role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}], amiSelectorTerms: [{id: ami-1}]}`,
			accept: "AL2\nAL2023\nBottlerocket\nCustom\nWindows2019\nWindows2022\nWindows2025",
		},
		{name: "tags", at: "spec.tags", accept: "{}\n{a: b, \"odd key:/=@\": \"\", kubernetes.io/role: x}"},
		{name: "tags without a key", at: "spec.tags", reject: `{"": b}`, because: "empty tag keys aren't supported"},
		{
			name: "the tag of the cluster's owner", at: "spec.tags", because: "tag contains a restricted tag matching kubernetes.io/cluster/",
			reject: "{kubernetes.io/cluster/test: owned}\n{kubernetes.io/cluster: x}",
		},
		{name: "the tag of the pool", at: "spec.tags", reject: `{karpenter.sh/nodepool: x}`, because: "tag contains a restricted tag matching karpenter.sh/nodepool"},
		{name: "the tag of the claim", at: "spec.tags", reject: `{karpenter.sh/nodeclaim: x}`, because: "tag contains a restricted tag matching karpenter.sh/nodeclaim"},
		{name: "the tag of the class", at: "spec.tags", reject: `{karpenter.k8s.aws/ec2nodeclass: x}`, because: "tag contains a restricted tag matching karpenter.k8s.aws/ec2nodeclass"},
		{name: "the tag of the cluster", at: "spec.tags", reject: `{"eks:eks-cluster-name": x}`, because: "tag contains a restricted tag matching eks:eks-cluster-name"},
		{name: "any object is a kubelet block", at: "spec.kubelet", accept: "{}\n{maxPods: 110}\n{a: {b: [1, {c: true}], d: null}, \"x y\": -1}", reject: "[]\n1", because: "spec.kubelet"},
		{
			name: "the endpoint", at: "spec.metadataOptions", because: "spec.metadataOptions.httpEndpoint",
			accept: "{httpEndpoint: enabled}\n{httpEndpoint: disabled}", reject: `{httpEndpoint: on}`,
		},
		{
			name: "the protocol", at: "spec.metadataOptions", because: "spec.metadataOptions.httpProtocolIPv6",
			accept: "{httpProtocolIPv6: enabled}\n{httpProtocolIPv6: disabled}", reject: `{httpProtocolIPv6: maybe}`,
		},
		{
			name: "the hop limit", at: "spec.metadataOptions", because: "spec.metadataOptions.httpPutResponseHopLimit",
			accept: "{httpPutResponseHopLimit: 1}\n{httpPutResponseHopLimit: 64}",
			reject: "{httpPutResponseHopLimit: 0}\n{httpPutResponseHopLimit: 65}\n{httpPutResponseHopLimit: -5}",
		},
		{
			name: "tokens", at: "spec.metadataOptions", because: "spec.metadataOptions.httpTokens",
			accept: "{httpTokens: required}\n{httpTokens: optional}", reject: `{httpTokens: none}`,
		},
		{
			name: "enclaves", at: "spec.enclaveOptions", because: "spec.enclaveOptions",
			accept: "{enabled: true}\n{enabled: false}", reject: "{}\n{enabled: \"true\"}",
		},
		{
			name: "nested virtualization", at: "spec.cpuOptions", because: "spec.cpuOptions.nestedVirtualization",
			accept: "{}\n{nestedVirtualization: enabled}\n{nestedVirtualization: disabled}", reject: "{nestedVirtualization: on}\n{nestedVirtualization: \"\"}",
		},
		{
			name: "a placement group is named once", at: "spec.placementGroupSelector", because: "'name' and 'id' are mutually exclusive",
			accept: "{name: a}\n{id: pg-0a1b}", reject: `{name: a, id: pg-1}`,
		},
		{name: "a placement group is named", at: "spec.placementGroupSelector", reject: `{}`, because: "expected at least one, got none, ['name', 'id']"},
		{name: "the id of a placement group", at: "spec.placementGroupSelector", reject: "{id: sg-1}\n{id: pg-}\n{id: xpg-1}", because: "spec.placementGroupSelector.id"},
		{name: "the name of a placement group", at: "spec.placementGroupSelector", reject: `{name: ""}`, because: "spec.placementGroupSelector.name"},
	}
}

// awsDeviceCases are the rules for disks and network interfaces.
func awsDeviceCases() []awsCase {
	return []awsCase{
		{
			name: "root volumes", at: "spec.blockDeviceMappings", because: "must have only one blockDeviceMappings with rootVolume",
			accept: "[]\n[{rootVolume: true, ebs: {volumeSize: 1Gi}}, {rootVolume: false}, {deviceName: /dev/x}]",
			reject: `[{rootVolume: true}, {}, {rootVolume: true}]`,
		},
		{
			name: "sizes of volumes", at: "spec.blockDeviceMappings",
			accept: "[{ebs: {volumeSize: 1Gi}}, {ebs: {volumeSize: 9999Gi}}, {ebs: {volumeSize: 59000Gi}}]\n" +
				"[{ebs: {volumeSize: 1G}}, {ebs: {volumeSize: 64000G}}]\n[{ebs: {volumeSize: 1Ti}}, {ebs: {volumeSize: 57Ti}}, {ebs: {volumeSize: 58Ti}}]\n" +
				"[{ebs: {volumeSize: 1T}}, {ebs: {volumeSize: 19T}}, {ebs: {volumeSize: 64T}}]",
		},
		{
			name: "sizes that are none", at: "spec.blockDeviceMappings", because: "spec.blockDeviceMappings[0].ebs.volumeSize",
			reject: "[{ebs: {volumeSize: 0Gi}}]\n[{ebs: {volumeSize: 0.9Gi}}]\n[{ebs: {volumeSize: 999M}}]\n[{ebs: {volumeSize: 65T}}]\n[{ebs: {volumeSize: 59Ti}}]\n" +
				"[{ebs: {volumeSize: 64001G}}]\n[{ebs: {volumeSize: 59001Gi}}]\n[{ebs: {volumeSize: big}}]\n[{ebs: {volumeSize: Ti}}]\n[{ebs: {volumeSize: 20}}]\n[{ebs: {volumeSize: \"20\"}}]",
		},
		{
			name: "a volume has a size or a snapshot", at: "spec.blockDeviceMappings", because: "snapshotID or volumeSize must be defined",
			accept: `[{ebs: {snapshotID: snap-1}}]`, reject: "[{ebs: {}}]\n[{ebs: {volumeType: gp3}}]",
		},
		{
			name: "only a snapshot is fetched at a rate", at: "spec.blockDeviceMappings", because: "snapshotID must be set when volumeInitializationRate is set",
			accept: "[{ebs: {snapshotID: s, volumeInitializationRate: 100}}]\n[{ebs: {snapshotID: s, volumeInitializationRate: 300}}]",
			reject: "[{ebs: {volumeSize: 1Gi, volumeInitializationRate: 100}}]\n[{ebs: {snapshotID: \"\", volumeInitializationRate: 100}}]",
		},
		{
			name: "bounds of the rate", at: "spec.blockDeviceMappings", because: "volumeInitializationRate",
			reject: "[{ebs: {snapshotID: s, volumeInitializationRate: 99}}]\n[{ebs: {snapshotID: s, volumeInitializationRate: 301}}]",
		},
		{
			name: "interfaces", at: "spec.networkInterfaces",
			accept: "[]\n[{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]\n" +
				"[{networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}, {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}, {networkCardIndex: 1, deviceIndex: 0, interfaceType: interface}]",
		},
		{name: "kinds of interfaces", at: "spec.networkInterfaces", reject: `[{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa}]`, because: "interfaceType"},
		{
			name: "a negative card", at: "spec.networkInterfaces", because: "networkCardIndex",
			reject: `[{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: -1, deviceIndex: 0, interfaceType: interface}]`,
		},
		{
			name: "a negative place", at: "spec.networkInterfaces", because: "deviceIndex",
			reject: `[{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: -1, interfaceType: interface}]`,
		},
		{
			name: "one interface a place and one fabric interface a card", at: "spec.networkInterfaces",
			because: "networkInterfaces must not have duplicate networkCardIndex and deviceIndex pairs, and can have at most one efa device per network card",
			reject: "[{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]\n" +
				"[{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}, {networkCardIndex: 0, deviceIndex: 2, interfaceType: efa-only}]",
		},
		{
			name: "the primary interface", at: "spec.networkInterfaces", because: "networkInterfaces must include a primary interface with interfaceType='interface'",
			reject: "[{networkCardIndex: 0, deviceIndex: 1, interfaceType: interface}]\n[{networkCardIndex: 1, deviceIndex: 0, interfaceType: interface}]\n[{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}]",
		},
		{
			name: "connection tracking tracks something", at: "spec.connectionTracking", reject: `{}`,
			because: "at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set",
		},
		{
			name: "bounds of tcpEstablishedTimeout", at: "spec.connectionTracking", because: "spec.connectionTracking.tcpEstablishedTimeout",
			accept: "{tcpEstablishedTimeout: 60}\n{tcpEstablishedTimeout: 432000}", reject: "{tcpEstablishedTimeout: 59}\n{tcpEstablishedTimeout: 432001}",
		},
		{
			name: "bounds of udpStreamTimeout", at: "spec.connectionTracking", because: "spec.connectionTracking.udpStreamTimeout",
			accept: "{udpStreamTimeout: 60}\n{udpStreamTimeout: 180}", reject: "{udpStreamTimeout: 59}\n{udpStreamTimeout: 181}",
		},
		{
			name: "bounds of udpTimeout", at: "spec.connectionTracking", because: "spec.connectionTracking.udpTimeout",
			accept: "{udpTimeout: 30}\n{udpTimeout: 60}", reject: "{udpTimeout: 29}\n{udpTimeout: 61}",
		},
		{name: "prefixes are not negative", at: "spec.ipPrefixCount", accept: "0\n16", reject: "-1", because: "spec.ipPrefixCount"},
		{name: "the only policy for built-in disks", at: "spec.instanceStorePolicy", accept: "RAID0", reject: "RAID1", because: "spec.instanceStorePolicy"},
	}
}
