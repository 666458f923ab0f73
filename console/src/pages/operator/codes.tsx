// Codes.
import { PageHeader } from '../../ui/layout.js';

export default function Codes() {
  return <PageHeader title="Tollgate" />;
}
