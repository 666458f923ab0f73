#!/bin/sh
# Puts an OpenTelemetry Collector with the components of deploy/observability/collector.yaml into .toolchain/bin, built from their Go modules, which takes
# minutes. It needs Go 1.24.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ ! -x "$root/.toolchain/bin/otelcol" ] || exit 0
"$root/scripts/install/programs.sh" go:golang-go
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod GOSUMDB=off
core=go.opentelemetry.io/collector
contrib=github.com/open-telemetry/opentelemetry-collector-contrib
version=v0.144.0
cat > main.go <<'GO'
// What the builder of the project (ocb) would write for these components.
package main

import (
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func components() (otelcol.Factories, error) {
	var err error
	factories := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	if factories.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return factories, err
	}
	if factories.Processors, err = otelcol.MakeFactoryMap[processor.Factory](
		batchprocessor.NewFactory(), memorylimiterprocessor.NewFactory(), tailsamplingprocessor.NewFactory(),
	); err != nil {
		return factories, err
	}
	factories.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory(), prometheusexporter.NewFactory())
	return factories, err
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Description: "Collector of Tollgate's tests", Version: "0"},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
GO
go mod init tollgate/otelcol 2>/dev/null
go get $core/otelcol@$version $core/receiver/otlpreceiver@$version $core/exporter/otlphttpexporter@$version \
  $core/confmap/provider/fileprovider@v1.50.0 $core/confmap/provider/envprovider@v1.50.0 $core/processor/batchprocessor@$version $core/processor/memorylimiterprocessor@$version \
  $contrib/processor/tailsamplingprocessor@$version $contrib/exporter/prometheusexporter@$version && go mod tidy ||
  { echo "The collector could not be downloaded as Go modules; its test needs it." >&2; exit 1; }
mkdir -p "$root/.toolchain/bin"
go build -o "$root/.toolchain/bin/otelcol" .
