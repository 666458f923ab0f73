// Home.
import { PageHeader } from '../../ui/layout.js';

export default function Home() {
  return <PageHeader title="Tollgate" />;
}
