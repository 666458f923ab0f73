#!/bin/sh
# Installs Helm, kubeconform and the loader of Docker Compose in .toolchain/bin, built from their Go modules, which takes minutes and needs a recent Go. Also
# installs the schemas of Kubernetes, from the Python package kubernetes-validate, in .toolchain/kubernetes-schemas.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
bin="$root/.toolchain/bin"
"$root/scripts/install/grpcurl.sh"
[ -x "$bin/helm" ] || GOBIN="$bin" go install helm.sh/helm/v3/cmd/helm@v3.22.0
[ -x "$bin/kubeconform" ] || GOBIN="$bin" go install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
if [ ! -x "$bin/compose-spec" ]; then
  GOBIN="$bin" go install github.com/compose-spec/compose-go/v2/cmd@v2.16.2
  mv "$bin/cmd" "$bin/compose-spec"
fi
schemas="$root/.toolchain/kubernetes-schemas"
[ ! -d "$schemas" ] || exit 0
rm -rf "$schemas.new"
python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$schemas.new" kubernetes-validate==1.37.0
# kubeconform does not follow references to other files, so each schema gets a copy of the definitions that all of them refer to.
python3 - "$schemas.new/kubernetes_validate/kubernetes-json-schema" "$schemas.new/out" <<'END'
import json, pathlib, sys
kinds = ['deployment-apps-v1', 'statefulset-apps-v1', 'service-v1', 'job-batch-v1', 'networkpolicy-networking-v1', 'ingress-networking-v1',
         'poddisruptionbudget-policy-v1', 'horizontalpodautoscaler-autoscaling-v2']
for version in ('1.27.0', '1.34.0', '1.37.0'):
    source = pathlib.Path(sys.argv[1], f'v{version}-local-strict')
    target = pathlib.Path(sys.argv[2], version)
    target.mkdir(parents=True)
    shared = json.loads((source / '_definitions.json').read_text())
    for kind in kinds:
        text = (source / f'{kind}.json').read_text().replace('/api/_definitions.json#', '#').replace('"_definitions.json#', '"#')
        (target / f'{kind}.json').write_text(json.dumps({**shared, **json.loads(text)}))
END
mv "$schemas.new/out" "$schemas"
rm -rf "$schemas.new"
